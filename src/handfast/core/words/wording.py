"""Texts for violations from schemas and models alike, without the caller's values."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from handfast.core.words.redaction import scrub_name
from handfast.core.words.secrets_in_text import mask_known

MOST_VIOLATIONS = 5
MOST_OPTIONS = 8
MOST_SHOWN = 64  # characters of any one name, option or pattern
MOST_NESTED = 8  # levels of nested alternatives that are read

ARTICLES = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """A path (empty for the whole value) and a text, such as `items/0/id` and `must be an integer, not a string`."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


PRESENT, MISSING, UNDECLARED = range(3)


def order_of(value: object, path: Iterable[str | int], *, what: int = PRESENT) -> tuple[int, ...]:
    """A sort key for violations by their place in the value; an object's missing and undeclared names come last in it.

    Needed because a schema's validator and a model report in different orders.
    """
    order: list[int] = []
    for part in path:
        if isinstance(value, dict) and part in value:
            order.append(list(value).index(part))
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            order.append(part)
            value = value[part]
    if what != PRESENT:
        order += (len(value) if isinstance(value, dict) else 0, what)
    return tuple(order)


def wrong_type(types: Iterable[str], actual: str) -> str:
    """Such as `must be an integer or null, not a string`; the types are names of JSON Schema."""
    in_reading_order = sorted(types, key=lambda name: name == "null")
    return f"must be {' or '.join(ARTICLES.get(name, name) for name in in_reading_order)}, not {actual}"


def missing(name: str) -> str:
    return f"must have the property '{scrubbed_name(name)}'"


def undeclared(names: Sequence[str], *, show_names: bool, count: int = 0) -> str:
    """The text for undeclared names; `count` is set if there are more than `names`."""
    count = count or len(names)
    text = "has 1 property that is not allowed" if count == 1 else f"has {count} properties that are not allowed"
    if not show_names:
        return text
    first = ", ".join(f"'{scrubbed_name(name)}'" for name in names[:MOST_OPTIONS])
    return f"{text}: {first}{', ...' if count > MOST_OPTIONS else ''}"


def no_alternative(count: int) -> str:
    return f"fits none of the {count} alternatives allowed here"


def one_of(options: Sequence[object]) -> str:
    first = ", ".join(shown(option) for option in options[:MOST_OPTIONS])
    return f"must be one of {first}, ..." if len(options) > MOST_OPTIONS else f"must be one of {first}"


def pattern(text: str) -> str:
    return f"must match the pattern {_of_schema(text)}"


def counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def properties(count: int) -> str:
    return "1 property" if count == 1 else f"{count} properties"


def shown(option: object) -> str:
    """The text for a value from the schema, such as an option or a limit."""
    if isinstance(option, str):
        return f"'{_of_schema(option)}'"
    return _of_schema(json.dumps(option, default=str))


def _of_schema(text: str) -> str:
    return scrubbed(mask_known(text[: 4 * MOST_SHOWN]))  # longer than what is shown, so a secret is read whole


def scrubbed(text: str, most: int = MOST_SHOWN) -> str:
    """The text in printable characters, cut to at most `most`."""
    clean = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return clean if len(clean) <= most else clean[: most - 3] + "..."


def scrubbed_name(name: str) -> str:
    """The same for a name, without secrets, which a caller may have sent as a name."""
    return scrubbed(scrub_name(name))


def path_of(parts: Sequence[str | int], names: frozenset[str], *, show_names: bool) -> str:
    """A path such as `items/0/id`; an undeclared name is `*` unless `show_names`."""
    return "/".join(
        str(part) if isinstance(part, int) else scrubbed_name(part) if show_names or part in names else "*"
        for part in parts[:MOST_SHOWN]
    )


def type_of(value: object) -> str:
    """The JSON type of the value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case dict():
            return "an object"
        case list() | tuple():
            return "an array"
        case int():
            return "an integer"
        case _:
            return "a number"
