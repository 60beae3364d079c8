"""The errors that a serializer reports, by argument: `address.city`, `items[2].sku`, or the whole call."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rest_framework.settings import api_settings

from handfast.core.words.redaction import is_secret_name, scrub_name, scrub_text
from handfast.django.invocation.places import Path, shown_path

_MASK: Final = "…"
_QUOTES: Final = (('"', '"'), ("'", "'"), ("“", "”"), ("«", "»"), ("`", "`"))
_MOST_VALUES: Final = 500  # values that are looked for in a message
_LONG: Final = 12  # characters: a value as long as this is not one of the message's own words
_SHORTEST_SECRET: Final = 4
_MOST_TEXT: Final = 300
_MOST_TOLD: Final = 10
_MOST_KEPT: Final = 50
_DEEPEST: Final = 16
# Keys of messages about the whole call, or under which an exception handler of the project collects the errors.
_NO_FIELD: Final = frozenset(
    ("detail", "details", "error", "errors", "message", "messages", "msg", "fields", "__all__")
)
# Keys that such a handler adds to its messages, for programs.
_ASIDE: Final = frozenset(
    ("code", "status", "status_code", "type", "title", "instance", "success", "timestamp", "path", "request_id")
)
_NAMED_BY: Final = ("attr", "field", "source", "loc", "name")
_TEXT_IN: Final = ("detail", "message", "msg", "error")
# Replacements, by their codes, for messages of REST framework that contain the value without quotes.
_OWN_WORDS: Final = {"does_not_exist": "nothing that this caller may use is known by this value"}


class Unquoting:
    """The values of one call, which are masked in messages about it."""

    def __init__(self, arguments: object) -> None:
        found: dict[str, bool] = {}
        for text, is_secret in _scalars(arguments, is_secret=False):
            found[text] = found.get(text, False) or is_secret
            if len(found) == _MOST_VALUES:
                break
        # The longest first: one value may be a part of another.
        self._values = sorted(found.items(), key=lambda pair: -len(pair[0]))

    def shown(self, text: str) -> str:
        """The message in one line; masks secrets, quoted values, and values that are not the message's own words."""
        for value, is_secret in self._values:
            if value not in text:
                continue
            for opening, closing in _QUOTES:
                text = text.replace(f"{opening}{value}{closing}", f"{opening}{_MASK}{closing}")
            if _is_telling(value) or (is_secret and len(value) >= _SHORTEST_SECRET):
                text = text.replace(value, _MASK)
        return scrub_text(text, most=_MOST_TEXT)


def _is_telling(value: str) -> bool:
    """Whether a value is long, or neither a word nor a short number, so that a message does not have it by itself."""
    return len(value) >= _LONG or (len(value) >= _SHORTEST_SECRET and not value.isalpha())


def _scalars(value: Any, *, is_secret: bool) -> Iterator[tuple[str, bool]]:  # Any: JSON
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, is_secret=is_secret or is_secret_name(str(key)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _scalars(inner, is_secret=is_secret)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value).strip()
        if text:
            yield text, is_secret


@dataclass(frozen=True, slots=True)
class FieldErrors:
    """The messages by place; '' is the whole call."""

    places: Mapping[str, list[str]]

    @property
    def details(self) -> dict[str, object]:
        """The messages for programs: those of each place, and those of the whole call."""
        found: dict[str, object] = {"fields": {place: texts for place, texts in self.places.items() if place}}
        return {**found, "general": self.places[""]} if "" in self.places else found

    def __str__(self) -> str:
        told = [f"{place}: {text}" if place else text for place, texts in self.places.items() for text in texts]
        sentences = "; ".join(text.rstrip(".") for text in told[:_MOST_TOLD])
        return f"{sentences}; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else sentences


def read_errors(
    body: Any,  # Any: what a view answered
    arguments: Collection[str],
    unquoting: Unquoting,
    *,
    list_under: str | None = None,
) -> FieldErrors:
    """The errors in an answer. `arguments`: names of fields; `list_under`: name of a list that is the whole body."""
    places: dict[str, list[str]] = {}
    for found, text in _leaves(body, (), arguments, 0):
        path = found if list_under is None or (found and isinstance(found[0], str)) else (list_under, *found)
        place = shown_path(tuple(scrub_name(part) if isinstance(part, str) else part for part in path))
        said = _OWN_WORDS.get(str(getattr(text, "code", "")), "") or unquoting.shown(text)
        if said and said not in places.setdefault(place, []):
            places[place].append(said)
        if len(places) == _MOST_KEPT:
            break
    return FieldErrors({place: texts for place, texts in places.items() if texts})


def _leaves(node: Any, path: Path, known: Collection[str], depth: int) -> Iterator[tuple[Path, str]]:  # Any: as above
    if depth > _DEEPEST:
        return
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, Mapping):
        yield from _of_object(node, path, known, depth)
    elif isinstance(node, list | tuple):
        is_flat = all(isinstance(item, str) for item in node)
        is_told = not is_flat and all(isinstance(item, Mapping) and _named(item) is not None for item in node)
        for index, item in enumerate(node):
            yield from _leaves(item, path if is_flat or is_told else (*path, index), known, depth + 1)


def _of_object(node: Mapping[Any, Any], path: Path, known: Collection[str], depth: int) -> Iterator[tuple[Path, str]]:
    """Any: as above."""
    told = _named(node)
    if told is not None:
        yield (*path, *told[0]), told[1]
        return
    for key, inner in node.items():
        if isinstance(key, int) or (isinstance(key, str) and key.isdecimal() and key not in known):
            yield from _leaves(inner, (*path, int(key)), known, depth + 1)
        elif key == api_settings.NON_FIELD_ERRORS_KEY or (not path and key in _NO_FIELD and key not in known):
            yield from _leaves(inner, path, known, depth + 1)
        elif path or key in known or key not in _ASIDE:
            yield from _leaves(inner, (*path, str(key)), known, depth + 1)


def _named(node: Mapping[Any, Any]) -> tuple[Path, str] | None:  # Any: as above
    """The place and message of an error that an exception handler wrote as one flat object; None for other objects."""
    text = next((node[key] for key in _TEXT_IN if isinstance(node.get(key), str)), None)
    name = next((node[key] or "" for key in _NAMED_BY if isinstance(node.get(key, 0), str | None)), None)
    if text is None or name is None or any(isinstance(inner, Mapping) for inner in node.values()):
        return None
    parts = [part for part in name.replace("[", ".").replace("]", "").split(".") if part]
    no_field = (api_settings.NON_FIELD_ERRORS_KEY, "__all__")
    return tuple(int(part) if part.isdecimal() else part for part in parts if part not in no_field), text
