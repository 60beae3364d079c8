"""Texts for violations from schemas and models alike, without the caller's values."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import msgspec

from handfast.core.words.nearest import nearest
from handfast.core.words.redaction import scrub_name
from handfast.core.words.secrets_in_text import mask_known

MOST_VIOLATIONS = 5
MOST_NAMES = 8  # of keys that are not allowed
MOST_LISTED = 300  # characters of the options or names of one list: what an agent can choose from
MOST_HINTED = 100  # the same where it only says what is missing
MOST_SHOWN = 64  # characters of any one name, option or pattern
MOST_OF_PATTERN = 150  # characters of a pattern: longer ones are not read by anybody
MOST_PATTERNS = 3
_MOST_OPTIONS = 2000  # that are compared with what was sent: some 5 ms
MOST_READ = 200  # errors that are read: enough to distinguish alternatives, within a few milliseconds
MOST_NESTED = 8  # levels of nested alternatives that are read

FORMATS = {
    "date": "a date such as 2026-03-01",
    "time": "a time such as 09:30:00Z",
    "date-time": "a date and time such as 2026-03-01T09:30:00Z",
    "duration": "a duration such as PT1H30M",
    "email": "an email address such as ada@example.com",
    "hostname": "a host name such as example.com",
    "ipv4": "an IPv4 address such as 192.0.2.1",
    "ipv6": "an IPv6 address such as 2001:db8::1",
    "uri": "a URI such as https://example.com/page",
    "uuid": "a UUID such as 0b6f3c1e-8f0a-4c5e-9d43-1f2a7b8c9d0e",
    "regex": "a regular expression",
}
ARTICLES = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


META_VIOLATIONS: Final = "handfast/violations"  # in `_meta` of a refusal: its facts


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A violation for a program: where, which keyword or rule, what the schema asks for, the name that is nearest."""

    pointer: str  # a JSON pointer into what was judged
    rule: str
    expected: object = msgspec.UNSET  # a value of JSON, as the keyword has it; null is one, too
    nearest: str = ""


def expected_value(value: object) -> object:
    """What a schema asks for as a fact has it: with the secrets masked that a text masks, and nothing that is long."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    if value is msgspec.UNSET or len(text) > MOST_LISTED:
        return msgspec.UNSET
    return _masked(value)


def _masked(value: object) -> object:
    if isinstance(value, dict):
        return {mask_known(str(name)): _masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner) for inner in value]
    return mask_known(value) if isinstance(value, str) else value


def pointer_of(steps: Iterable[str | int], names: frozenset[str], *, show_names: bool) -> str:
    """The path as a JSON pointer; a name is shown where it would be in a text."""
    parts = (path_of((step,), names, show_names=show_names) for step in steps)
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


@dataclass(frozen=True, slots=True)
class Wording:
    """A path (empty for the whole value) and a text, such as `items/0/id` and `must be an integer, not a string`."""

    path: str
    text: str
    facts: tuple[Fact, ...] = field(default=(), compare=False)

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


def missing(name: str, kind: str = "") -> str:
    """`kind` is what it must be, such as `an integer`."""
    return f"must have the property '{scrubbed_name(name)}'" + (f" ({kind})" if kind else "")


def undeclared(
    names: Sequence[str],
    *,
    show_names: bool,
    count: int = 0,
    allowed: Sequence[str] = (),
    sent: Container[str] = (),
    patterns: Sequence[str] = (),
) -> str:
    """The text for undeclared names; `count` is set if there are more. `allowed` are declared, `sent` some of them.

    `patterns` are those of names that are allowed as well.
    """
    count = count or len(names)
    text = "has 1 property that is not allowed" if count == 1 else f"has {count} properties that are not allowed"
    if show_names:
        first = ", ".join(f"'{scrubbed_name(name)}'" for name in names[:MOST_NAMES])
        text += f": {first}{', ...' if count > MOST_NAMES else ''}"
        text += _did_you_mean(names[:MOST_NAMES], [name for name in allowed if name not in sent])
    told = [_listed(map(shown, allowed), MOST_LISTED)] if allowed else []
    told += [f"names that match {names_pattern(patterns)}"] if patterns else []
    return f"{text}, allowed: {' and '.join(told)}" if told else text


def names_pattern(patterns: Sequence[str]) -> str:
    """Such as `^x_ or ^y_`."""
    more = ["..."] if len(patterns) > MOST_PATTERNS else []
    return " or ".join([*(_pattern(text) for text in patterns[:MOST_PATTERNS]), *more])


def unfit(kinds: Mapping[str, str]) -> str:
    """For declared names whose values are not what they are declared to be; each with its kind, if that can be said."""
    first = islice(kinds.items(), MOST_NAMES)
    names = ", ".join(f"'{scrubbed_name(name)}'" + (f" ({kind})" if kind else "") for name, kind in first)
    more = ", ..." if len(kinds) > MOST_NAMES else ""
    what = "a property that does" if len(kinds) == 1 else "properties that do"
    return f"has {what} not fit what is declared: {names}{more}"


def _did_you_mean(names: Sequence[str], free: Sequence[str]) -> str:
    """` (did you mean 'email'?)`, or nothing where no free name is like one of these."""
    alone = len(names) == 1
    meant = {name: found[0] for name in names if (found := nearest(name, free))}
    pairs = [shown(near) if alone else f"{shown(near)} for '{scrubbed_name(name)}'" for name, near in meant.items()]
    return f" (did you mean {', '.join(pairs)}?)" if pairs else ""


def no_alternative(count: int, told: str = "") -> str:
    """`told` are the alternatives in brief."""
    return f"fits none of the {count} alternatives allowed here" + (f": {told}" if told else "")


def one_of(options: Sequence[object], most: int = MOST_LISTED) -> str:
    return f"must be one of {_listed(map(shown, options), most)}"


def one_of_many(options: Sequence[object], sent: object) -> str:
    """The same, with the option that is nearest to what was sent where not all of them are listed."""
    text = one_of(options)
    if not isinstance(sent, str) or not text.endswith(", ..."):
        return text
    near = nearest(sent, (option for option in options if isinstance(option, str)), among=_MOST_OPTIONS)
    return f"{one_of(options, MOST_HINTED)} (did you mean {shown(near[0])}?)" if near else text


def _listed(items: Iterable[str], most: int) -> str:
    """As many as fit, at least one; a literal `...` stands for the rest."""
    fitting: list[str] = []
    for item in items:
        most -= len(item) + 2
        if fitting and most < 0:
            return ", ".join([*fitting, "..."])
        fitting.append(item)
    return ", ".join(fitting)


def kind_of(schema: object) -> str:
    """What a value of this schema is, such as `an integer`, `one of 'a', 'b'`, `a date such as 2026-03-01`."""
    if not isinstance(schema, Mapping):
        return ""
    if isinstance(options := schema.get("enum"), list) and options:
        return one_of(options, MOST_HINTED).removeprefix("must be ")
    if "const" in schema:
        return shown(schema["const"])
    if (form := schema.get("format")) in FORMATS:
        return FORMATS[form]
    types = schema.get("type")
    names = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    items = schema.get("items")
    if names == ["array"] and isinstance(items, Mapping) and items.get("type") in ARTICLES:
        return f"an array of {items['type']}s"
    return " or ".join(ARTICLES[name] for name in names if name in ARTICLES)


def wrong_form(name: str) -> str:
    """For a value that is not of the format that the schema names."""
    return f"must be {FORMATS[name]}" if name in FORMATS else f"must have the format {_of_schema(name)}"


def pattern(text: str) -> str:
    return f"must match the pattern {_pattern(text)}"


def _pattern(text: str) -> str:
    """A long one is cut, and what is cut off is said in words: an ellipsis would be three of any character."""
    masked = mask_known(text[: 2 * MOST_OF_PATTERN])
    if len(masked) <= MOST_OF_PATTERN:
        return scrubbed(masked, MOST_OF_PATTERN)
    return f"that begins with {scrubbed(masked[:MOST_SHOWN])} and has {len(text)} characters"


def with_count(told: Sequence[Wording], left: int, *, is_all: bool) -> tuple[Wording, ...]:
    """The violations, and after the last how many more there are; `is_all` if they were all counted."""
    if not left:
        return tuple(told)
    more = str(left) if is_all else "many"
    return (*told[:-1], replace(told[-1], text=f"{told[-1].text}; and {more} more"))


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
