"""The messages between the slow lane and its worker: MessagePack after four bytes of length."""

import msgspec

from handfast.core.words.wording import Fact

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
    seconds: float  # after this time the worker ends itself
    lenient: bool = False  # scalars sent as text are converted
    asserts_formats: bool = False
    max_depth: int | None = None  # levels that the value may have; None if that was checked already


class Stage(msgspec.Struct, frozen=True, array_like=True):
    """The progress of a job: ready, compiled, uncompilable, too deep, ambiguous, too slow, verdict or words."""

    name: str
    conforms: bool = False
    words: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    backtracks: bool = False  # the compiled schema's time depends on the value


def pack(message: Job | Stage) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def unpack_job(body: bytes) -> Job:
    return msgspec.msgpack.decode(body, type=Job)


def unpack_stage(body: bytes) -> Stage:
    return msgspec.msgpack.decode(body, type=Stage)


def body_length(header: bytes) -> int:
    """The length of the body. Raises: ValueError if it is larger than any message."""
    length = int.from_bytes(header, "big")
    if length > MOST_BYTES:
        raise ValueError("The frame is larger than any message; restart the slow lane.")
    return length
