"""The one byte format of every chain: what is hashed, and how a record follows the one before. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from handfast.core.call.exchange import Detail, Record

GENESIS = "0" * 64

# Byte for byte what json.dumps(payload, sort_keys=True, ensure_ascii=True, default=str) gives; built once because
# json.dumps builds a new encoder on every call with these arguments.
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode

_encode_quickly = msgspec.json.Encoder(order="deterministic").encode
_ALIKE: Final = frozenset({str, int, bool, type(None)})

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
    return {
        "id": record.id,
        "time": record.time,
        "type": record.type,
        "status": record.status,
        "server": record.server,
        "tool": record.tool,
        "mode": record.mode,
        "rule": record.rule,
        "reason": record.reason,
        "request_id": record.request_id,
        "duration_ms": record.duration_ms,
        "actor": record.actor,
        "details": dict(record.details),
        "seq": head.seq + 1,
        "previous": head.hash,
    }


def link_record(record: Record, head: Head | Link) -> Link:
    """The link that follows `head`, which may be the one before."""
    try:
        text = _text_of(record, head)
    except (TypeError, ValueError, RecursionError):
        # One record that JSON cannot carry must not stop all that come after it; it is kept without its details.
        text = _text_of(replace(record, details={"unencodable": True}), head)
    return Link(head.seq + 1, text, hash_text(text), index_of(record))


class _Payload(msgspec.Struct, frozen=True):
    """The fields of a payload, in the order in which they are written."""

    actor: str
    details: Mapping[str, Detail]
    duration_ms: float | None
    id: str
    mode: str
    previous: str
    reason: str
    request_id: str
    rule: str
    seq: int
    server: str
    status: str
    time: str
    tool: str
    type: str


def _text_of(record: Record, head: Head | Link) -> str:
    """`canonical_text(payload_of(record, head))`; what nearly every record holds is written in a third of the time."""
    text = _plain_text(record, head) if _is_plain(record) else None
    return _encode(payload_of(record, head)) if text is None else text


def _plain_text(record: Record, head: Head | Link) -> str | None:
    """None where the quick encoder cannot write it, or would not write it alike."""
    payload = _Payload(
        record.actor,
        record.details,
        record.duration_ms,
        record.id,
        record.mode,
        head.hash,
        record.reason,
        record.request_id,
        record.rule,
        head.seq + 1,
        record.server,
        record.status,
        record.time,
        record.tool,
        record.type,
    )
    try:
        text = msgspec.json.format(_encode_quickly(payload), indent=0)
    except (TypeError, ValueError, OverflowError):
        return None
    return text.decode() if text.isascii() and text.find(b"\x7f") < 0 else None


def _is_plain(record: Record) -> bool:
    """Whether both encoders write such values alike: not so all numbers, nor what JSON does not have."""
    for value in record.details.values():
        if type(value) not in _ALIKE and not (type(value) is list and set(map(type, value)) <= _ALIKE):
            return False
    duration = record.duration_ms
    return duration is None or duration == 0.0 or 0.001 <= duration < 1e15


def index_of(record: Record) -> tuple[str, ...]:
    """The fields a store keeps beside the payload, to search by."""
    return (
        record.id,
        record.time,
        str(record.type),
        str(record.status),
        record.server,
        record.tool,
        record.rule,
        record.request_id,
    )


INDEXED = ("id", "time", "type", "status", "server", "tool", "rule", "request_id")


def searchable(text: str) -> str:
    """Text as a store can keep it in a column: half of a surrogate pair has no encoding."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
