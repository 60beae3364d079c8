"""The one byte format of every chain: what is hashed, and how a record follows the one before. Pure."""

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

# Byte for byte what json.dumps(payload, sort_keys=True, ensure_ascii=True, default=str) gives; built once because
# json.dumps builds a new encoder on every call with these arguments.
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode

_encode_quickly = msgspec.json.Encoder(order="deterministic").encode
_format = msgspec.json.format
_DELETE: Final = 0x7F  # the one character of ASCII that only one of the encoders escapes
_ALIKE: Final = frozenset({str, int, bool, type(None)})

# The fields of a record are those of the struct and listed nowhere else: what is hashed, kept and shown follows.
FIELDS: Final = Record.__struct_fields__
INDEXED: Final = ("id", "time", "type", "status", "server", "tool", "rule", "request_id")
# Of a record, the texts that a store keeps beside the payload, to search by.
index_of: Final[Callable[[Record], tuple[str, ...]]] = attrgetter(
    *(f"{name}._value_" if Record.__annotations__[name] in (RecordType, Status) else name for name in INDEXED)
)

Payload = dict[str, object]


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends: the sequence and hash of its last record."""

    seq: int = 0
    hash: str = GENESIS


class Link(msgspec.Struct, frozen=True):
    """One record as it is stored: the exact text that was hashed, its hash, and the columns kept for searching."""

    seq: int
    payload: str
    hash: str
    indexed: tuple[str, ...]


def canonical_text(payload: Mapping[str, object]) -> str:
    """The text that is hashed. It is ASCII, so its bytes are the same in every encoding."""
    return _encode(payload)


def hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def payload_of(record: Record, head: Head | Link) -> Payload:
    """The record's fields plus its place in the chain that ends at `head`."""
    payload = asdict(record)
    payload["details"] = dict(record.details)
    payload["seq"] = head.seq + 1
    payload["previous"] = head.hash
    return payload


def link_record(record: Record, head: Head | Link) -> Link:
    """The link that follows `head`, which may be the one before."""
    try:
        text = _text_of(record, head)
    except (TypeError, ValueError, RecursionError):
        # One record that JSON cannot carry must not stop all that come after it; it is kept without its details.
        text = _text_of(replace(record, details={"unencodable": True}), head)
    return Link(head.seq + 1, text, hash_text(text), index_of(record))


# In the order in which they are written: sorted, as the canonical text is.
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
    """`canonical_text(payload_of(record, head))`; what nearly every record holds is written in a third of the time."""
    text = _plain_text(record, head) if _is_plain(record) else None
    return _encode(payload_of(record, head)) if text is None else text


def _plain_text(record: Record, head: Head | Link) -> str | None:
    """None where the quick encoder cannot write it, or would not write it alike."""
    payload = _Payload(*_before_previous(record), head.hash, *_before_seq(record), head.seq + 1, *_after_seq(record))
    try:
        text = _format(_encode_quickly(payload), indent=0)
    except (TypeError, ValueError, OverflowError):
        return None
    return text.decode() if text.isascii() and _DELETE not in text else None


def _is_plain(record: Record) -> bool:
    """Whether both encoders write such values alike: not so all numbers, nor what JSON does not have."""
    for value in record.details.values():
        if type(value) not in _ALIKE and not (type(value) is list and set(map(type, value)) <= _ALIKE):
            return False
    duration = record.duration_ms
    return duration is None or duration == 0.0 or 0.001 <= duration < 1e15


def searchable(text: str) -> str:
    """Text as a store can keep it in a column: half of a surrogate pair has no encoding."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
