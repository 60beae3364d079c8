"""The byte format of every chain: the text that is hashed, and the link from a record to the one before. Pure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from handfast.core.call.exchange import Record, RecordType, Status

GENESIS = "0" * 64

# The same bytes as json.dumps(payload, sort_keys=True, ensure_ascii=True, default=str), which would build a new encoder
# on every call.
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode

_encode_quickly = msgspec.json.Encoder(order="deterministic").encode
_format = msgspec.json.format
_DELETE: Final = 0x7F  # the only ASCII character that the two encoders write differently
_ALIKE: Final = frozenset({str, int, bool, type(None)})

# The struct alone defines the fields of a record; hashing, storing and showing follow it.
FIELDS: Final = Record.__struct_fields__
INDEXED: Final = ("id", "time", "type", "status", "server", "tool", "rule", "request_id")
# The texts of a record that a store keeps beside the payload for searching.
index_of: Final[Callable[[Record], tuple[str, ...]]] = attrgetter(
    *(f"{name}._value_" if Record.__annotations__[name] in (RecordType, Status) else name for name in INDEXED)
)

Payload = dict[str, object]


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: sequence and hash of its last record."""

    seq: int = 0
    hash: str = GENESIS


class Link(msgspec.Struct, frozen=True):
    """One record as it is stored: the exact text that was hashed, its hash, and the columns for searching."""

    seq: int
    payload: str
    hash: str
    indexed: tuple[str, ...]


def canonical_text(payload: Mapping[str, object]) -> str:
    """The text that is hashed. It is ASCII, so its bytes do not depend on an encoding."""
    return _encode(payload)


def hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def payload_of(record: Record, head: Head | Link) -> Payload:
    """The record's fields, and its place in the chain that ends at `head`."""
    payload = asdict(record)
    payload["details"] = dict(record.details)
    payload["seq"] = head.seq + 1
    payload["previous"] = head.hash
    return payload


def link_record(record: Record, head: Head | Link) -> Link:
    """The link for a record that follows `head`, the chain's end or the link before."""
    try:
        text = _text_of(record, head)
    except (TypeError, ValueError, RecursionError):
        # A record that JSON cannot encode must not stop all later ones, so it is kept without its details.
        text = _text_of(replace(record, details={"unencodable": True}), head)
    return Link(head.seq + 1, text, hash_text(text), index_of(record))


# In the order of the canonical text, which is sorted.
_WRITTEN: Final = sorted((*FIELDS, "previous", "seq"))
_Payload = msgspec.defstruct("_Payload", _WRITTEN, frozen=True, gc=False)
_before_previous, _before_seq, _after_seq = (
    attrgetter(*names)
    for names in (
        _WRITTEN[: _WRITTEN.index("previous")],
        _WRITTEN[_WRITTEN.index("previous") + 1 : _WRITTEN.index("seq")],
        _WRITTEN[_WRITTEN.index("seq") + 1 :],
    )
)


def _text_of(record: Record, head: Head | Link) -> str:
    """Equals `canonical_text(payload_of(record, head))`, but takes a third of the time for nearly all records."""
    text = _plain_text(record, head) if _is_plain(record) else None
    return _encode(payload_of(record, head)) if text is None else text


def _plain_text(record: Record, head: Head | Link) -> str | None:
    """The text by the quick encoder; None if it cannot encode the record, or would write it differently."""
    payload = _Payload(*_before_previous(record), head.hash, *_before_seq(record), head.seq + 1, *_after_seq(record))
    try:
        text = _format(_encode_quickly(payload), indent=0)
    except (TypeError, ValueError, OverflowError):
        return None
    return text.decode() if text.isascii() and _DELETE not in text else None


def _is_plain(record: Record) -> bool:
    """Whether both encoders write the values alike; they differ in some numbers and in types unknown to JSON."""
    for value in record.details.values():
        if type(value) not in _ALIKE and not (type(value) is list and set(map(type, value)) <= _ALIKE):
            return False
    duration = record.duration_ms
    return duration is None or duration == 0.0 or 0.001 <= duration < 1e15


def searchable(text: str) -> str:
    """Text that a store can keep in a column: lone surrogates, which have no encoding, are replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
