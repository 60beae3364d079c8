"""What an agent reads about a tool: what its author wrote, or a sentence made from what it does."""

import inspect
import re
from functools import lru_cache
from typing import Final

from handfast.django.decorators import mark_of
from handfast.django.discovery.views.bare_view import Asked
from handfast.django.discovery.views.operations import FoundView, Operation
from handfast.django.discovery.views.overridden import is_own_way

_MOST: Final = 2_000  # characters: past that it is a manual
_METHODS: Final = {"get": "get", "post": "send", "put": "replace", "patch": "change", "delete": "delete"}
_SECTION: Final = re.compile(r"^([a-z][a-z0-9_]*):[ \t]*", re.MULTILINE)


def describe(view: FoundView, operation: Operation, asked: Asked, segments: list[str]) -> str:
    """The docstring of the action, else what it does and the docstring of the view."""
    if view.is_function:
        own, sections = _class_words(view), {}
    else:
        own = "" if is_own_way(view.cls, operation.handler) else _written(getattr(view.cls, operation.handler, None))
        sections = _sections(_class_words(view))
    own = own or sections.get(operation.action, "")
    if own:
        return own[:_MOST]
    return " ".join(part for part in (_sentence(operation, asked, segments), sections.get("", "")) if part)[:_MOST]


def _written(target: object) -> str:
    return inspect.cleandoc(getattr(target, "__doc__", None) or "").strip()


def _class_words(view: FoundView) -> str:
    """What is said on the view, or its own docstring; a class inherits none from the framework."""
    mark = mark_of(view.cls)
    if mark is not None and mark.description:
        return mark.description
    own = vars(view.cls).get("__doc__")
    return inspect.cleandoc(own).strip() if isinstance(own, str) else ""


@lru_cache(maxsize=1024)
def _sections(text: str) -> dict[str, str]:
    """REST framework's way to document the actions of a viewset in one docstring: `list:` and then what it does."""
    parts = _SECTION.split(text)
    found = {"": parts[0].strip()}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = " ".join(body.split())
    return found


def _sentence(operation: Operation, asked: Asked, segments: list[str]) -> str:
    words = operation.action.replace("_", " ")
    if operation.shares_action:  # one url with several methods: an agent has to tell them apart
        words = f"{_METHODS.get(operation.method, operation.method)} {words}"
    verb = f"{words[:1].upper()}{words[1:]}"
    if asked.model is None:
        about = segments[-1].replace("-", " ").replace("_", " ") if segments else "something"
        return f"List {about}." if operation.action == "list" else f"{verb} ({about})."
    one, many = str(asked.model._meta.verbose_name), str(asked.model._meta.verbose_name_plural)
    standard = {
        "list": f"List {many}.",
        "retrieve": f"Get one {one}.",
        "create": f"Create {_article(one)}.",
        "update": f"Replace all fields of {_article(one)}.",
        "partial_update": f"Change some fields of {_article(one)}.",
        "destroy": f"Delete {_article(one)}.",
    }
    about = _article(one) if getattr(asked.view, "detail", False) else many
    return standard.get(operation.action, f"{verb} ({about}).")


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
