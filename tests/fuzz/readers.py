"""How others read the same bytes: each reader gives the messages that it finds.

A reader that refuses the bytes finds nothing, and is not misled. One that finds something must find what was judged.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.fuzz.client import Headers, Received
from tests.fuzz.foreign import ForeignReader, Job, Kind, httpx_reader, node_reader
from tests.fuzz.messages import LINE_END, Reading, decoded, parse, parse_bytes, parse_lines, parse_sequence, readings_of
from tests.fuzz.promises import Json
from tests.fuzz.upstream import Got

# --- events --------------------------------------------------------------------------------------------------------


def events_by_the_book(data: bytes) -> list[str]:
    """HTML 9.2.6: the data of each event that is dispatched."""
    text = data.decode(errors="replace").removeprefix("\ufeff")
    lines = LINE_END.split(text)[:-1]  # what has no end is no line
    return _dispatch(lines, lambda name: name)


def events_leniently(data: bytes) -> list[str]:
    """Lines as str.splitlines has them, names in any case, with blanks around them or a byte order mark before."""
    lines = data.decode(errors="replace").splitlines()
    return _dispatch([*lines, ""], lambda name: name.strip("\ufeff \t\0").lower())


def _dispatch(lines: Iterable[str], named: Callable[[str], str]) -> list[str]:
    found: list[str] = []
    held: list[str] = []
    for line in lines:
        if not line:
            if held:
                found.append("\n".join(held))
            held = []
            continue
        name, _, value = line.partition(":")
        if named(name) == "data":
            held.append(value.removeprefix(" "))
    return found


# --- bytes with their headers ---------------------------------------------------------------------------------------

_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([^\"';,\s]+)", re.I)


def charsets(headers: Headers) -> set[str]:
    """Every character set that a header names for the body."""
    values = [value for name, value in headers if name.lower() == b"content-type"]
    return {found.decode("latin-1") for value in values for found in _CHARSET.findall(value)}


def inflated(data: bytes, headers: Headers) -> bytes | None:
    """The body for a reader that takes its Content-Encoding for true; None where there is none to take."""
    codings = b",".join(value.lower() for name, value in headers if name.lower() == b"content-encoding")
    if not any(word in codings for word in (b"gzip", b"deflate")):
        return None
    try:
        return zlib.decompressobj(47).decompress(data)  # gzip or zlib, told apart by the first bytes
    except zlib.error:
        return None


def header_lines(head: bytes) -> Headers:
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:] if line)
    return tuple((name, value.strip()) for name, _, value in lines)


class Readers:
    """Every reader there is."""

    def __init__(self) -> None:
        self._node: ForeignReader = node_reader()
        self._httpx: ForeignReader = httpx_reader()

    def close(self) -> None:
        self._node.close()
        self._httpx.close()

    def read(self, gots: Sequence[Got], received: Received) -> tuple[list[list[Reading]], list[Reading]]:
        """What servers would find in each thing that reached one, and clients in what one was sent."""
        jobs = [job for got in gots for job in _node_jobs(got)]
        of_client = _kind_for(received)
        found = iter(self._node.read([*jobs, Job(of_client, received.pieces)]))
        forwarded = [_server_readings(got, found) for got in gots]
        in_answer = next(found)
        if of_client == "lines":
            return forwarded, [*_lines(received.body), *readings_of("Node's readline", in_answer)]
        (texts,) = self._httpx.read([Job(of_client, received.pieces, received.headers)])
        readings = _of_events if of_client == "events" else _of_body
        return forwarded, list(readings(received, in_answer, texts))


def _node_jobs(got: Got) -> list[Job]:
    if not got.is_http:
        return [Job("lines", (got.body,))]
    return [Job("request", (got.head + got.body,)), Job("text", (got.body,))]


def _server_readings(got: Got, from_node: Iterator[list[Json]]) -> list[Reading]:
    if not got.is_http:
        return [*_lines(got.body), *readings_of("Node's readline", next(from_node))]
    by_express, parsed = next(from_node), next(from_node)
    found = list(_texts(got.body, header_lines(got.head)))
    return [*found, *readings_of("Express 4", by_express), *readings_of("JSON.parse", parsed)]


def _kind_for(received: Received) -> Kind:
    if not received.is_http:
        return "lines"
    is_stream = any(b"event-stream" in kind.lower() for kind in received.values(b"content-type"))
    return "events" if is_stream else "text"


def _of_body(received: Received, from_node: list[Json], texts: list[Json]) -> Iterator[Reading]:
    yield from _texts(received.body, received.headers)
    yield from readings_of("fetch", from_node)
    yield from readings_of("httpx", (value for text in texts for value in parse(text)))


def _of_events(received: Received, from_node: list[Json], texts: list[Json]) -> Iterator[Reading]:
    by_reader = {
        "by the book": events_by_the_book(received.body),
        "lenient": events_leniently(received.body),
        "httpx-sse": texts,
    }
    for charset in charsets(received.headers):
        by_reader[f"as {charset}"] = events_leniently(decoded(received.body, charset).encode(errors="replace"))
    yield from readings_of("eventsource-parser", from_node)
    for name, found in by_reader.items():
        yield from readings_of(name, (value for text in found for value in parse(text)))


def _texts(data: bytes, headers: Headers) -> Iterator[Reading]:
    yield from readings_of("json.loads", parse_bytes(data))
    yield from readings_of("one value after the other", parse_sequence(data.decode(errors="replace")))
    for charset in charsets(headers):
        yield from readings_of(f"as {charset}", parse(decoded(data, charset)))
    whole = inflated(data, headers)
    if whole is not None:
        yield from readings_of("inflated", parse_bytes(whole))


def _lines(data: bytes) -> Iterator[Reading]:
    text = data.decode(errors="replace")
    yield from readings_of("lines", parse_lines(text, lambda whole: whole.split("\n")))
    yield from readings_of("universal newlines", parse_lines(text, LINE_END.split))
    yield from readings_of("splitlines", parse_lines(text, str.splitlines))
    yield from readings_of("one value after the other", parse_sequence(text))
