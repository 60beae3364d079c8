"""Every misbehaviour: what the server does, what handfast does, and how the call ends over each transport."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.contracts.rig import ROUTES, Route
from tests.gateway.running import TEXT
from tests.stubs.run import Raw, answer, tool

MESSAGE_BYTES = 128 * 1024  # the limit in force; an answer above it is easily made
TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ends: what its client reads (None for the result), and what is on record."""

    code: int | None
    status: str
    rule: str


FINE = Ending(None, "success", "")
FAILED = Ending(-31001, "error", "upstream.failed")
EXITED = Ending(-31001, "error", "upstream.exited")
TIMED_OUT = Ending(-31002, "error", "upstream.timeout")

DEAD: Mapping[Route, Ending] = {"wrap": EXITED, "stdio": FAILED, "http-json": FAILED, "http-sse": FAILED}
ALWAYS_FAILED: Mapping[Route, Ending] = dict.fromkeys(ROUTES, FAILED)
SILENT: Mapping[Route, Ending] = dict.fromkeys(ROUTES, TIMED_OUT)
HEALTHY: Mapping[Route, Ending] = dict.fromkeys(ROUTES, FINE)
# A line may still be followed by the right one, so it is waited for; a body or a stream ends and says that it does.
NO_MORE: Mapping[Route, Ending] = {"wrap": TIMED_OUT, "stdio": TIMED_OUT, "http-json": FAILED, "http-sse": FAILED}
UNLESS_ONE_BODY: Mapping[Route, Ending] = {**HEALTHY, "http-json": FAILED}
ON_PIPES: Mapping[Route, Ending] = {**HEALTHY, "http-json": FAILED, "http-sse": FAILED}
PIPES: tuple[Route, ...] = ("wrap", "stdio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One misbehaviour of a tool, called by its name."""

    name: str
    server: str
    handfast: str
    does: Mapping[str, object]  # the stub's answer
    ends: Mapping[Route, Ending]
    spoils_pipe: bool = False  # after it nothing else comes through the same stdio child


def fault(
    name: str, ends: Mapping[Route, Ending], *faults: str, server: str, handfast: str, result: Raw = TEXT, **more: bool
) -> Fault:
    return Fault(name=name, server=server, handfast=handfast, does=answer(result, *faults), ends=ends, **more)


def only_pipes(ends: Mapping[Route, Ending]) -> Mapping[Route, Ending]:
    return {route: ends[route] for route in PIPES}


FAULTS = (
    fault(
        "dies",
        ALWAYS_FAILED,  # half a line is enough to tell which call it was the answer to
        "die",
        server="dies in the middle of its answer: half a line, half a body, half an event",
        handfast="an error at once; the half is dropped",
        spoils_pipe=True,
    ),
    fault(
        "leaves",
        DEAD,
        "close",
        server="ends, or closes the connection, without an answer",
        handfast="an error at once; the call is not repeated, as it may have run",
        spoils_pipe=True,
    ),
    fault(
        "hangs",
        SILENT,
        "silence",
        server="never answers",
        handfast="a timeout after `call_timeout_s`; the server is told that the call was cancelled",
    ),
    fault(
        "dawdles",
        HEALTHY,
        "trickle:0.001",
        server="answers byte by byte, and finishes",
        handfast="waits, and passes the answer on",
        spoils_pipe=True,
    ),
    fault(
        "stalls",
        SILENT,
        "half_line",
        server="sends half of its answer and stops",
        handfast="a timeout; bytes are not progress",
        spoils_pipe=True,
    ),
    fault(
        "trickles",
        SILENT,
        "trickle:0.2",
        server="answers byte by byte and would take longer than a call may",
        handfast="a timeout; bytes are not progress",
        spoils_pipe=True,
    ),
    fault(
        "misnames",
        NO_MORE,
        "wrong_id",
        server="answers with an id nobody asked with",
        handfast="drops and records the answer; over a pipe the right one may follow and is waited for",
    ),
    fault(
        "corrects",
        ON_PIPES,
        "stray",
        server="answers with an id nobody asked with, then rightly",
        handfast="over a pipe drops and records the first, passes the second on; over HTTP the call ends",
    ),
    fault(
        "contradicts",
        UNLESS_ONE_BODY,
        "contradict",
        server="answers one request twice, differently",
        handfast="passes the first on, drops and records the second; two messages in one JSON body are refused",
    ),
    fault(
        "truncates",
        NO_MORE,
        "truncate",
        server="ends its stream, or its body, before the answer",
        handfast="an error at once; over a pipe the answer may still come and is waited for",
    ),
    fault(
        "floods",
        HEALTHY,
        "notify:8000",
        server="sends notifications as fast as it can, then answers",
        handfast="passes all of them on; whoever reads slowly slows only the server that is its own",
    ),
    fault(
        "babbles",
        SILENT,
        "endless",
        server="sends notifications for ever and never answers",
        handfast="a timeout; only progress of the call itself, or a question to the client, is a sign of life",
        spoils_pipe=True,
    ),
    fault(
        "complains",
        only_pipes(HEALTHY),
        "stderr:20000",
        server="floods its stderr",
        handfast="passes it on, a chunk at a time, between the calls of others",
    ),
    fault(
        "garbles",
        ALWAYS_FAILED,
        server="answers with bytes that are not UTF-8",
        handfast="an error at once: no client could read it",
        result=b'{"content":[{"type":"text","text":"\xff\xfe"}]}',
    ),
    fault(
        "exceeds",
        ALWAYS_FAILED,
        server="answers with more than `message_bytes`",
        handfast="an error at once; the rest is skipped and not kept",
        result='{"content":[{"type":"text","text":"%s"}]}' % ("x" * 2 * MESSAGE_BYTES),
    ),
    fault(
        "falls_silent",
        only_pipes(DEAD),
        "close_stdout",
        server="closes its stdout and stays alive",
        handfast="an error after a second, in which the process may end by itself; then it is ended",
        spoils_pipe=True,
    ),
    fault(
        "is_deaf",
        only_pipes(SILENT),
        "deaf",
        server="reads nothing more from its stdin",
        handfast="a timeout; further calls wait for room in its pipe, for as long as a call may",
        spoils_pipe=True,
    ),
)
BY_NAME = {each.name: each for each in FAULTS}
CASES = [(route, each.name) for route in ROUTES for each in FAULTS if route in each.ends]

TOOLS = [tool("steady"), *(tool(each.name) for each in FAULTS)]
ANSWERS: dict[str, object] = {"steady": answer(TEXT), **{each.name: each.does for each in FAULTS}}
