"""Checks values against the table of settings and says in words what a value must be."""

import re
from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any

import msgspec
from msgspec import inspect

from handfast.gateway.settings.keys import AMBIGUOUS_KEYS, BLOCKS, POLICY_BLOCKS, SERVER_KEYS, TOP_KEYS, Key
from handfast.gateway.settings.problems import Findings, Rank, Where, nearest

# Where a value inside of objects in a list is wrong. msgspec's own words quote patterns.
_INNER = re.compile(r"at `\$(\[\d+\](?:\.\w+(?:\[[\d.]+\])?)?)`$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Long enough for any of our own words and any number worth reading, too short for most secrets.
_LONGEST_SHOWN = 24


class WrongValue(Exception):
    """A value that its key does not take; the text goes after the key's name."""


def parse_value(key: Key, value: object, *, is_text: bool = False) -> object:
    """The value in the key's type; `is_text` for variables and flags. Raises: WrongValue."""
    given = _split(key, value) if is_text and isinstance(value, str) else value
    try:
        if _holds_control(given):
            raise WrongValue("must not hold line breaks or other control characters")
        return msgspec.convert(given, key.type, strict=not is_text)
    except msgspec.ValidationError as error:
        inner = _INNER.search(str(error))
        place = f"; what is wrong is at {key.dotted}{inner[1]}" if inner else _got(key, value)
        raise WrongValue(f"must be {describe_type(key)}{place}") from None


def check_block(block: object, keys: Mapping[str, Key], where: Where, findings: Findings) -> dict[str, object]:
    """Returns the valid values of a block, and notes what is wrong with the others."""
    if not isinstance(block, dict):
        findings.add(where, f"must be an object with keys such as {', '.join(list(keys)[:3])}")
        return {}
    values: dict[str, object] = {}
    for name, value in block.items():
        if name not in keys:
            findings.add((*where, name), unknown_key(name, keys), rank=Rank.KEY)
            continue
        take_value(keys[name], value, (*where, name), findings=findings, into=values)
    return values


def take_value(key: Key, value: object, where: Where, *, findings: Findings, into: dict[str, object]) -> None:
    """Puts the parsed value under the key's name, or notes what is wrong with it."""
    try:
        into[key.name] = parse_value(key, value)
    except WrongValue as wrong:
        findings.add(where, str(wrong))


def unknown_key(name: str, known: Iterable[str]) -> str:
    """Describes what is wrong with a key that is not known here."""
    names = list(known)
    meant = nearest(name, names)
    if meant in AMBIGUOUS_KEYS and POLICY_BLOCKS[0] in names:
        return f'is not a setting; did you mean "{meant}" inside {" or ".join(POLICY_BLOCKS)}?'
    if meant is not None:
        return f'is not a setting; did you mean "{meant}"?'
    homes = [block for block, keys in BLOCKS.items() if name in keys]
    if homes:
        return f"is not a setting here; it belongs in {' or '.join(homes)}"
    if name in SERVER_KEYS:
        return 'is not a setting here; it belongs in a server\'s "handfast" block'
    if name in TOP_KEYS or name in BLOCKS:
        return "is not a setting here; it belongs at the top level of the file"
    return f"is not a setting; the keys here are {', '.join(names)}"


def describe_type(key: Key) -> str:
    """What a value must be, in words: `one of off, warn, strict`."""
    return _words(inspect.type_info(key.type))


def allowed_words(key: Key) -> tuple[str, ...]:
    """The values of an enumerated key; empty for any other."""
    kind = _bare(inspect.type_info(key.type))
    return tuple(member.value for member in kind.cls) if isinstance(kind, inspect.EnumType) else ()


def _bare(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _words(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.Metadata):
        wanted: object = (kind.extra or {}).get("wanted")
        return wanted if isinstance(wanted, str) else _words(kind.type)
    if isinstance(kind, inspect.EnumType):
        return f"one of {', '.join(member.value for member in kind.cls)}"
    if isinstance(kind, inspect.UnionType):
        return " or ".join(_words(part) for part in kind.types)
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        return _number_words(kind)
    if isinstance(kind, inspect.BoolType):
        return "true or false"
    if isinstance(kind, inspect.NoneType):
        return "null"
    return "text" if isinstance(kind, inspect.StrType) else "a list of texts"


def _number_words(kind: inspect.IntType | inspect.FloatType) -> str:
    noun = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
    if kind.gt is not None:
        return f"{noun} above {kind.gt:g}, at most {kind.le}"
    return f"{noun} of at least {kind.ge}" if kind.le is None else f"{noun} from {kind.ge} to {kind.le}"


def _got(key: Key, value: object) -> str:
    """Quotes the value, but text only if the key takes fixed words; text meant for another key may be a secret."""
    words = allowed_words(key)
    if isinstance(value, str):
        if not words:
            return ""
        meant = nearest(value, words)
        hint = f'; did you mean "{meant}"?' if meant else ""
        shown = f"got {dumps(value)}" if len(value) <= _LONGEST_SHOWN else "got a value that is none of these"
        return f"; {shown}{hint}"
    if value is None or isinstance(value, bool | int | float):
        shown = dumps(value)
        return f"; got {shown}" if len(shown) <= _LONGEST_SHOWN else ""
    return "; got a list" if isinstance(value, list) else "; got an object" if isinstance(value, dict) else ""


def _split(key: Key, text: str) -> object:
    """Splits the value of a variable at its commas, if the key takes a list."""
    kind: Any = _bare(inspect.type_info(key.type))  # Any: the kinds of lists have no common class
    if not isinstance(kind, inspect.FrozenSetType | inspect.VarTupleType):
        return text
    return [part.strip() for part in text.split(",") if part.strip()]


def _holds_control(value: object) -> bool:
    texts = value if isinstance(value, list) else [value]
    return any(isinstance(text, str) and _CONTROL.search(text) for text in texts)
