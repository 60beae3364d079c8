"""What an agent reads about a tool: its name, and its author's description or a generated sentence."""

import inspect
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

from handfast.django.decorators import mark_of
from handfast.django.discovery.views.bare_view import AskedView
from handfast.django.discovery.views.operations import FoundView, Operation
from handfast.django.discovery.views.overridden import is_own_way
from handfast.django.discovery.views.routes import PathForm, read_forms

LONGEST: Final = 128  # as MCP has it
LONGEST_EVERYWHERE: Final = 64  # what several models take at most for the name of a function

_ROOT: Final = re.compile(r"api|v\d+(?:[._]\d+)*", re.IGNORECASE)
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
_PLACE: Final = "\0"
_MOST: Final = 2_000  # characters: past that it is a manual
_METHODS: Final = {"get": "get", "post": "send", "put": "replace", "patch": "change", "delete": "delete"}
_SECTION: Final = re.compile(r"^([a-z][a-z0-9_]*):[ \t]*", re.MULTILINE)


def segments_of(form: PathForm, language: str = "") -> list[str]:
    """The segments of a path that say what it is about, without its root and its parameters."""
    path = _PLACE.join(form.literals).removeprefix(f"/{language}")
    found = [cleaned for part in path.split("/") if (cleaned := part.replace(_PLACE, "").strip("-._~$"))]
    while found and _ROOT.fullmatch(found[0]):
        found.pop(0)
    return found


def root_of(url: str) -> str:
    """The part of a url before the segments that make the name: `/api/v1/`."""
    found = "/"
    for part in url.strip("/").split("/"):
        if not _ROOT.fullmatch(part):
            break
        found = f"{found}{part}/"
    return found


def without_action(segments: Sequence[str], url_path: str | None) -> list[str]:
    """The segments without an extra action's own part of the url, which the name of the action already says."""
    forms = read_forms(url_path) if url_path else ()
    own = segments_of(forms[0]) if forms else []
    if own and list(segments[-len(own) :]) == own:
        return list(segments[: -len(own)])
    return list(segments)


def tool_name(segments: Sequence[str], action: str) -> str:
    """A name such as `dcim__devices__list`: letters, digits, `_` and `-` as they are, anything else as `_`."""
    return "__".join(_UNFIT.sub("_", part) for part in (*segments, action))


def shorten_name(name: str) -> str:
    """Shortens a name to the bound, in the same way every time; it still ends in its action."""
    if len(name) <= LONGEST:
        return name
    digest = sha256(name.encode()).hexdigest()[:8]
    action = name.rpartition("__")[2][: LONGEST // 2]
    tail = f"_{digest}__{action}"
    return name[: LONGEST - len(tail)].rstrip("_") + tail


def describe_tool(view: FoundView, operation: Operation, asked: AskedView, segments: list[str]) -> str:
    """The docstring of the action, else a generated sentence and the docstring of the view."""
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
    """The description in the view's mark, or the view's own docstring, never an inherited one."""
    mark = mark_of(view.cls)
    if mark is not None and mark.description:
        return mark.description
    own = vars(view.cls).get("__doc__")
    return inspect.cleandoc(own).strip() if isinstance(own, str) else ""


@lru_cache(maxsize=1024)
def _sections(text: str) -> dict[str, str]:
    """Splits a docstring in which REST framework documents the actions of a viewset: `list:` and then its text."""
    parts = _SECTION.split(text)
    found = {"": parts[0].strip()}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        found[name] = " ".join(body.split())
    return found


def _sentence(operation: Operation, asked: AskedView, segments: list[str]) -> str:
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
