"""What client and worker say to each other: MessagePack behind four bytes of length."""

import msgspec

# Above the largest message any runtime accepts (64 MiB) plus the largest schema.
MOST_BYTES = 68 * 1024 * 1024

HEADER_BYTES = 4


class Job(msgspec.Struct, frozen=True, array_like=True):
    """One value to judge by one schema."""

    digest: str
    schema: bytes
    value: bytes
    wording: bool
    show_names: bool
    seconds: float  # after which the worker ends itself, should its parent be gone
    lenient: bool = False  # scalars sent as text count as what they spell
    max_depth: int | None = None  # levels that the value may have; None where that is known already


class Stage(msgspec.Struct, frozen=True, array_like=True):
    """How far a job has come: ready, compiled, uncompilable, too deep, ambiguous, too slow, verdict or words."""

    name: str
    conforms: bool = False
    words: tuple[str, ...] = ()
    backtracks: bool = False  # of what was compiled: how long it takes is up to the value


def pack(message: Job | Stage) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def unpack_job(body: bytes) -> Job:
    return msgspec.msgpack.decode(body, type=Job)


def unpack_stage(body: bytes) -> Stage:
    return msgspec.msgpack.decode(body, type=Stage)


def body_length(header: bytes) -> int:
    """Raises: ValueError when no honest peer would send that much."""
    length = int.from_bytes(header, "big")
    if length > MOST_BYTES:
        raise ValueError("The frame is larger than any message; restart the slow lane.")
    return length
