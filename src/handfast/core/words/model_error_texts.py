"""A text for each of pydantic's error types: tables, and one sentence for every type that is not in them."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from handfast.core.words.wording import (
    ARTICLES,
    MOST_SHOWN,
    counted,
    one_of,
    pattern,
    properties,
    scrubbed,
    shown,
    wrong_type,
)

Context = Mapping[str, Any]  # Any: limits and options of the types that the model's author used

AUTHORS_RULE = "handfast_rule"  # the only error type whose message is shown: its author wrote it as a literal
TOO_MANY = "handfast_too_many"  # stands for so many errors that listing them would delay other calls
A_RULE = "does not meet a rule of this tool"
_MOST_OF_A_RULE = 200  # characters of an author's own sentence

# The JSON types that each of these requires, by their names in JSON Schema.
JSON_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ["model_type", "model_attributes_type", "dataclass_type", "dict_type", "frozen_dict_type", "ordered_dict_type"],
        ("object",),
    ),
    **dict.fromkeys(["counter_type", "mapping_type"], ("object",)),
    **dict.fromkeys(
        ["list_type", "tuple_type", "set_type", "frozen_set_type", "deque_type", "iterable_type", "sequence_str"],
        ("array",),
    ),
    **dict.fromkeys(["named_tuple_type", "arguments_type"], ("array", "object")),
    **dict.fromkeys(["string_type", "bytes_type", "url_type", "uuid_type", "json_type", "path_type"], ("string",)),
    **dict.fromkeys(["date_type", "time_type", "datetime_type", "time_delta_type"], ("string",)),
    **dict.fromkeys(["bool_type", "bool_parsing"], ("boolean",)),
    **dict.fromkeys(["int_type", "int_parsing", "int_from_float"], ("integer",)),
    **dict.fromkeys(["float_type", "float_parsing"], ("number",)),
    **dict.fromkeys(["decimal_type", "fraction_type", "complex_type"], ("number", "string")),
    "none_required": ("null",),
}

# The form that a string must have; the text names the type of any other value.
_FORMS: dict[str, str] = {
    **dict.fromkeys(["date_type", "date_parsing", "date_from_datetime_parsing"], "a date such as 2026-03-01"),
    "date_from_datetime_inexact": "a date such as 2026-03-01, without a time of day",
    **dict.fromkeys(["time_type", "time_parsing"], "a time such as 09:30:00"),
    **dict.fromkeys(
        ["datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"],
        "a date and time such as 2026-03-01T09:30:00Z",
    ),
    **dict.fromkeys(["time_delta_type", "time_delta_parsing"], "a duration such as PT1H30M"),
    **dict.fromkeys(["url_type", "url_parsing", "url_syntax_violation"], "a URL such as https://example.com/page"),
    **dict.fromkeys(["uuid_type", "uuid_parsing"], "a UUID such as 0b6f3c1e-8f0a-4c5e-9d43-1f2a7b8c9d0e"),
    **dict.fromkeys(["decimal_type", "decimal_parsing"], "a decimal number such as 12.50"),
    **dict.fromkeys(["fraction_type", "fraction_parsing"], "a fraction such as 3/4"),
    **dict.fromkeys(["complex_type", "complex_str_parsing"], "a complex number such as 1+2j"),
    "json_type": "a string that holds JSON",
    **dict.fromkeys(
        ["pattern_type", "pattern_str_type", "pattern_bytes_type", "pattern_regex"], "a regular expression"
    ),
    **dict.fromkeys(["byte_size", "byte_size_unit"], "a size in bytes such as 10MB"),
    "ip_v4_address": "an IPv4 address such as 192.0.2.1",
    "ip_v6_address": "an IPv6 address such as 2001:db8::1",
    "ip_any_address": "an IP address such as 192.0.2.1",
    **dict.fromkeys(["ip_v4_network", "ip_any_network"], "an IP network such as 192.0.2.0/24"),
    "ip_v6_network": "an IPv6 network such as 2001:db8::/32",
    **dict.fromkeys(["ip_v4_interface", "ip_any_interface"], "an IP interface such as 192.0.2.1/24"),
    "ip_v6_interface": "an IPv6 interface such as 2001:db8::1/32",
    "zoneinfo_str": "a time zone such as Europe/Berlin",
    "path_type": "a path",
    "email": "an email address such as ada@example.com",
}

_NOT_JSON = "asks for something that JSON cannot carry; leave it out"
_PLAIN: dict[str, str] = {
    "json_invalid": "is not valid JSON",
    "finite_number": "must be a finite number",
    "int_parsing_size": "must be an integer of fewer digits",
    "string_unicode": "contains text that is not valid Unicode",
    "string_not_ascii": "must have only ASCII characters",
    "set_item_not_hashable": "must not be an array or an object",
    "date_past": "must be a date in the past",
    "date_future": "must be a date in the future",
    "datetime_past": "must be in the past",
    "datetime_future": "must be in the future",
    "timezone_aware": "must have a time zone, as 2026-03-01T09:30:00Z has",
    "timezone_naive": "must not have a time zone",
    "invalid_key": "has a property whose name is not a string",
    "recursion_loop": "contains itself",
    "recursion_depth_exceeded": "is nested too deeply",
    "default_factory_not_called": "is worked out from other fields, and they are wrong",
    "unexpected_positional_argument": "is an item too many",
    "multiple_argument_values": "is given more than once",
    "union_tag_not_found": "fits none of the alternatives allowed here",
    "path_not_file": "must be the path of a file",
    "path_not_directory": "must be the path of a folder",
    "path_not_socket": "must be the path of a socket",
    "path_exists": "must be a path where nothing is yet",
    "parent_does_not_exist": "must be a path in a folder that exists",
    **dict.fromkeys(["frozen_field", "frozen_instance"], "cannot be changed"),
    **dict.fromkeys(["is_instance_of", "is_subclass_of", "callable_type", "dataclass_exact_type"], _NOT_JSON),
    **dict.fromkeys(["needs_python_object", "missing_sentinel_error", "ellipsis_error"], _NOT_JSON),
    # Their text comes from the author, a library or an exception, and may quote the caller's values.
    **dict.fromkeys(["value_error", "assertion_error", "no_such_attribute", "get_attribute_error"], A_RULE),
    "iteration_error": A_RULE,
}


def text_of(kind: str, context: Context, *, actual: str, message: str = "") -> str:
    """The text for an error type. One outside the tables is a rule of the author, whose text is not shown."""
    if kind == AUTHORS_RULE:
        return scrubbed(message, _MOST_OF_A_RULE)
    if kind == "value_error" and message.startswith("value is not a valid email address"):
        kind = "email"
    if kind in _FORMS:
        return f"must be {_FORMS[kind]}" + ("" if actual == "a string" else f", not {actual}")
    if kind in JSON_TYPES:
        wanted = JSON_TYPES[kind]
        return A_RULE if actual in {ARTICLES[name] for name in wanted} else wrong_type(wanted, actual)
    if kind in _FROM_CONTEXT:
        return _FROM_CONTEXT[kind](context)
    return _PLAIN.get(kind, A_RULE)


def tag_name(context: Context) -> str:
    """The property that discriminates a union, or an empty string if a function does."""
    found = re.match(r"'([^']+)'", str(context.get("discriminator", "")))
    return found[1] if found else ""


def _limited(words: str, key: str) -> Callable[[Context], str]:
    return lambda context: f"{words} {_limit(context.get(key))}"


def _limit(limit: object) -> str:
    return shown(limit) if isinstance(limit, int | float) else scrubbed(str(limit))


def _sized(words: str, key: str, noun: str, after: str = "") -> Callable[[Context], str]:
    return lambda context: f"{words} {_counted(context.get(key), noun)}{after}"


def _counted(count: object, noun: str) -> str:
    number = count if isinstance(count, int) else 0
    return properties(number) if noun == "property" else counted(number, noun)


def _members(words: str, key: str) -> Callable[[Context], str]:
    """A limit on properties for a dict, on items for anything else."""
    return lambda context: _sized(words, key, "property" if context.get("field_type") in _DICTS else "item")(context)


_DICTS = frozenset({"Dictionary", "Mapping", "Counter", "OrderedDict"})


def _expected(context: Context) -> str:
    options = read_options(str(context.get("expected", "")))
    if options is None:
        return f"must be one of {scrubbed(str(context.get('expected', '')), 2 * MOST_SHOWN)}"
    return f"must be {shown(options[0])}" if len(options) == 1 else one_of(options)


def _tags(context: Context) -> str:
    options = read_options(str(context.get("expected_tags", ""))) if tag_name(context) else None
    if options is None:
        return "fits none of the alternatives allowed here"
    return f"must be {shown(options[0])}" if len(options) == 1 else one_of(options)


def read_options(text: str) -> tuple[object, ...] | None:
    """The options that pydantic lists as `'a', 1 or None` (tags without "or"); None if one is not a plain value."""
    # The last "or" joins the options, unless it is inside an option: try a few, from the right.
    ends = [match.start() for match in re.finditer(" or ", text)][-8:]
    for candidate in [*(f"{text[:end]}, {text[end + 4 :]}" for end in reversed(ends)), text]:
        try:
            found = ast.literal_eval(f"({candidate},)")
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, tuple) and text in _listed(found):
            return found
    return None


def _listed(options: tuple[object, ...]) -> tuple[str, str]:
    *before, last = map(repr, options)
    return ", ".join([*before, last]), f"{', '.join(before)} or {last}"


def _schemes(context: Context) -> str:
    options = read_options(str(context.get("expected_schemes", ""))) or ()
    starts = " or ".join(f"{option}://" for option in options[:8])
    return f"must be a URL that starts with {scrubbed(starts)}" if starts else "must be a URL of another scheme"


_FROM_CONTEXT: dict[str, Callable[[Context], str]] = {
    "greater_than": _limited("must be more than", "gt"),
    "greater_than_equal": _limited("must be at least", "ge"),
    "less_than": _limited("must be less than", "lt"),
    "less_than_equal": _limited("must be at most", "le"),
    "multiple_of": _limited("must be a multiple of", "multiple_of"),
    "string_too_short": _sized("must have at least", "min_length", "character"),
    "string_too_long": _sized("must have at most", "max_length", "character"),
    "url_too_long": _sized("must have at most", "max_length", "character"),
    "bytes_too_short": _sized("must have at least", "min_length", "byte"),
    "bytes_too_long": _sized("must have at most", "max_length", "byte"),
    "too_short": _members("must have at least", "min_length"),
    "too_long": _members("must have at most", "max_length"),
    "decimal_max_digits": _sized("must have at most", "max_digits", "digit"),
    "decimal_max_places": _sized("must have at most", "decimal_places", "decimal place"),
    "decimal_whole_digits": _sized("must have at most", "whole_digits", "digit", " before the decimal point"),
    "string_pattern_mismatch": lambda context: pattern(str(context.get("pattern", ""))),
    "bytes_invalid_encoding": lambda context: f"must be encoded as {scrubbed(str(context.get('encoding', '')))}",
    "uuid_version": _limited("must be a UUID of version", "expected_version"),
    "timezone_offset": lambda context: f"must have a time zone offset of {_limit(context.get('tz_expected'))} seconds",
    "url_scheme": _schemes,
    TOO_MANY: lambda context: (
        f"has {counted(context.get('count', 0), 'error')}, too many to list; correct all of a kind"
    ),
    "enum": _expected,
    "literal_error": _expected,
    "union_tag_invalid": _tags,
}
