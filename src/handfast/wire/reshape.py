"""Members of a message set, added or taken out by position, every other byte as it was sent."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from handfast.wire.scan import scan_object
from handfast.wire.splice import Edit, Path, apply_edits

_Below = Mapping[Path, bytes]


def put(text: bytes, values: _Below) -> bytes:
    """The object with raw JSON at these paths: replaced where there is something, else added, objects on the way too.

    Raises: NotJson.
    """
    return apply_edits(text, _put(text, 0, len(text), values))


def drop(text: bytes, paths: Iterable[Path]) -> bytes:
    """The object without the members at these paths, where there are any. Raises: NotJson."""
    return apply_edits(text, _drop(text, 0, len(text), dict.fromkeys(paths, b"")))


def _put(text: bytes, start: int, end: int, values: _Below) -> Iterator[Edit]:
    members = scan_object(text, start, end, allows_constants=True)
    below = _by_first(values)
    for member in members:
        inner = below.pop(member.key, None)
        if inner is None:
            continue
        if () not in inner and text.startswith(b"{", member.value_start):
            yield from _put(text, member.value_start, member.value_end, inner)
        else:
            yield member.value_start, member.value_end, _value(inner)
    if below:
        end = members[-1].value_end if members else text.index(b"{", start) + 1
        added = b",".join(msgspec.json.encode(key) + b":" + _value(inner) for key, inner in below.items())
        yield end, end, b"," + added if members else added


def _drop(text: bytes, start: int, end: int, paths: _Below) -> Iterator[Edit]:
    members = scan_object(text, start, end, allows_constants=True)
    below = _by_first(paths)
    leaving = [() in below.get(member.key, ()) for member in members]
    last = max((number for number, leaves in enumerate(leaving) if not leaves), default=-1)
    for number, member in enumerate(members[: last + 1]):
        if leaving[number]:
            yield member.key_start, members[number + 1].key_start, b""
        elif member.key in below and text.startswith(b"{", member.value_start):
            yield from _drop(text, member.value_start, member.value_end, below[member.key])
    if last + 1 < len(members):  # with the comma before them, where there is one
        yield members[last].value_end if last >= 0 else members[0].key_start, members[-1].value_end, b""


def _value(inner: _Below) -> bytes:
    return inner[()] if () in inner else put(b"{}", inner)


def _by_first(values: _Below) -> dict[str, dict[Path, bytes]]:
    found: dict[str, dict[Path, bytes]] = {}
    for path, value in values.items():
        found.setdefault(path[0], {})[path[1:]] = value
    return found
