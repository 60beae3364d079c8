"""The messages that are in JSON, as readers of several habits take them, in one form that can be compared."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs do not know it

from tests.fuzz.promises import Json

Key = Callable[[str], str]


class Pairs(list[tuple[str, Json]]):
    """An object with every pair of it, in order."""


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Json = _Absent()


@dataclass(frozen=True, slots=True)
class Seen:
    """One message as one reader takes it. `arguments` and `structured` are in a form that can be compared."""

    kind: str  # request, result, error
    id: Json = ABSENT
    method: str = ""
    name: Json = ABSENT
    arguments: Json = ABSENT
    structured: Json = ABSENT
    is_error: bool = False

    @property
    def is_call(self) -> bool:
        return self.method == "tools/call"


@dataclass(frozen=True, slots=True)
class Reading:
    reader: str  # and how it looks keys up
    seen: tuple[Seen, ...]

    @property
    def name(self) -> str:
        return self.reader.partition(",")[0]


# --- values --------------------------------------------------------------------------------------------------------


def frozen(value: Json, *, takes_first: bool = False) -> Json:
    """A value that can be compared and hashed: 1 and 1.0 are one number, as they are for most readers."""
    if isinstance(value, dict):
        if value.keys() == {"$number"}:
            return ("number", float(value["$number"].replace("Infinity", "inf")))
        return ("object", frozenset((key, frozen(inner, takes_first=takes_first)) for key, inner in value.items()))
    if isinstance(value, Pairs):
        pairs = reversed(value) if takes_first else value
        return (
            "object",
            frozenset((key, frozen(inner, takes_first=takes_first)) for key, inner in dict(pairs).items()),
        )
    if isinstance(value, list):
        return ("array", tuple(frozen(inner, takes_first=takes_first) for inner in value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value if not isinstance(value, bool) else ("bool", value)
    if value is ABSENT:
        return ABSENT
    try:
        number = float(value)
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    return ("number", number)


def plain(value: Json) -> Json:
    """The value again, as Python has it."""
    if not isinstance(value, tuple):
        return value
    kind, inner = value
    if kind == "object":
        return {key: plain(held) for key, held in inner}
    return [plain(held) for held in inner] if kind == "array" else inner


# --- messages ------------------------------------------------------------------------------------------------------


def go_folds(key: str) -> str:
    """As Go's encoding/json: the Kelvin sign is a k and the long s an s."""
    return key.replace("\u212a", "k").replace("\u017f", "s").lower()


def drops_nul(key: str) -> str:
    return go_folds(key.replace("\0", ""))


_POLICIES: dict[str, tuple[Key | None, bool]] = {
    "last wins": (None, False),
    "first wins": (None, True),
    "folds case": (go_folds, False),
    "folds case, drops NUL": (drops_nul, False),
}


class _Object:
    """An object as one kind of reader looks into it."""

    def __init__(self, value: Json, fold: Key | None, takes_first: bool) -> None:
        pairs: list[tuple[str, Json]] = value if isinstance(value, Pairs) else list(value.items())
        self._fold = fold or (lambda key: key)
        self._found: dict[str, Json] = {}
        for key, inner in pairs:
            name = self._fold(key)
            if not (takes_first and name in self._found):
                self._found[name] = inner

    def get(self, key: str) -> Json:
        return self._found.get(self._fold(key), ABSENT)


def view(value: Json, fold: Key | None, takes_first: bool) -> Seen | None:
    """The message in a value; None where it is none."""
    if not isinstance(value, Pairs | dict):
        return None
    top = _Object(value, fold, takes_first)
    method = top.get("method")
    message_id = frozen(top.get("id"))
    if isinstance(method, str):
        params = top.get("params")
        if method != "tools/call" or not isinstance(params, Pairs | dict):
            return Seen("request", message_id, method)
        inside = _Object(params, fold, takes_first)
        arguments = frozen(inside.get("arguments"), takes_first=takes_first)
        return Seen("request", message_id, method, frozen(inside.get("name")), arguments)
    result = top.get("result")
    if result is not ABSENT:
        if not isinstance(result, Pairs | dict):
            return Seen("result", message_id)
        inside = _Object(result, fold, takes_first)
        if isinstance(inside.get("result"), Pairs | dict):  # of a task that is done
            inside = _Object(inside.get("result"), fold, takes_first)
        structured = frozen(inside.get("structuredContent"), takes_first=takes_first)
        return Seen("result", message_id, structured=structured, is_error=inside.get("isError") is True)
    return Seen("error", message_id) if top.get("error") is not ABSENT else None


def messages_in(value: Json) -> Iterator[Json]:
    """Of a batch each, else the one."""
    if isinstance(value, list) and not isinstance(value, Pairs):
        yield from value
    else:
        yield value


def readings_of(reader: str, values: Iterable[Json]) -> Iterator[Reading]:
    """What the reader finds, once for each way to look keys up."""
    values = [message for value in values for message in messages_in(value)]
    if not values:
        return
    for policy, (fold, takes_first) in _POLICIES.items():
        try:
            seen = tuple(found for value in values if (found := view(value, fold, takes_first)) is not None)
        except RecursionError:
            return  # deeper than Python reads at all, so there is nothing to compare it with
        if seen:
            yield Reading(f"{reader}, {policy}", seen)


# --- JSON texts ----------------------------------------------------------------------------------------------------

_strict = json.JSONDecoder(object_pairs_hook=Pairs)
_lax = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)


def parse(text: str, decoder: json.JSONDecoder = _lax) -> list[Json]:
    try:
        return [decoder.decode(text)]
    except (ValueError, RecursionError):
        return []


def parse_bytes(data: bytes) -> list[Json]:
    """As json.loads takes bytes: UTF-8, 16 or 32, told apart by its first bytes."""
    try:
        return parse(data.decode(json.detect_encoding(data), "surrogatepass"))
    except (UnicodeError, ValueError):
        return []


def parse_sequence(text: str) -> list[Json]:
    """One value after the other, as decoders of streams do; what follows the last whole one is left."""
    found: list[Json] = []
    at = 0
    while at < len(text):
        while at < len(text) and text[at] in " \t\r\n\0\ufeff,;\x1e":
            at += 1
        try:
            value, at = _lax.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found


def parse_lines(text: str, split: Callable[[str], list[str]]) -> list[Json]:
    return [value for line in split(text) for value in parse(line.strip("\ufeff"))]


LINE_END = re.compile(r"\r\n|\r|\n")


def decoded(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except (LookupError, UnicodeError, ValueError):
        return ""


def canonical(data: bytes) -> list[Json]:
    """The one reading: strict JSON in UTF-8."""
    try:
        return parse(data.decode(), _strict)
    except UnicodeDecodeError:
        return []


def members(text: str) -> list[tuple[str, str]]:
    """An object's members with their values as they are spelled. Raises: ValueError."""
    found: list[tuple[str, str]] = []
    at = _blank(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("no object")
    at = _blank(text, at + 1)
    while text[at : at + 1] == '"':
        key, at = scanstring(text, at + 1, False)
        at = _blank(text, _blank(text, at) + 1)
        _, end = _lax.raw_decode(text, at)
        found.append((key, text[at:end]))
        at = _blank(text, end)
        if text[at : at + 1] == ",":
            at = _blank(text, at + 1)
    return found


def member_at(text: str, *path: str) -> str | None:
    """A member as it is spelled; None where there is none."""
    try:
        for key in path:
            text = dict(members(text))[key]
    except (KeyError, ValueError, RecursionError):
        return None
    return text


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
