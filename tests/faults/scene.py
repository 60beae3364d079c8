"""A gateway with a server that misbehaves, every fault at the same time, and callers that should notice nothing."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import cast

from tests.contracts.rig import Gateway, Json, Route, WrapGateway
from tests.faults.registry import ANSWERS, BY_NAME, CASES, MESSAGE_BYTES, TIMEOUT_S, TOOLS
from tests.gateway.running import call, running, stdio, wrapping
from tests.stubs.run import Stub, Transport, serving, write_stub

LIMITS: Json = {
    "call_timeout_s": TIMEOUT_S,
    "message_bytes": MESSAGE_BYTES,
    "body_bytes": MESSAGE_BYTES,
    "sessions": 64,
}
OWN_CHILD: Json = {"roots": {}}  # a client that declares something gets a child for itself


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to, and how long that took."""

    message: Json
    seconds: float


@dataclass(slots=True)
class SteadyCaller:
    """Calls one harmless tool again and again."""

    client: Gateway
    calls: int = 0
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(0.01):
            self.call_once()

    def call_once(self) -> None:
        began = time.monotonic()
        try:
            answer = self.client.call("steady")
            if answer.is_error:
                self.failures.append(answer.text)
        except (OSError, ValueError, LookupError) as problem:
            self.failures.append(repr(problem))
        self.calls += 1
        self.slowest = max(self.slowest, time.monotonic() - began)


@dataclass(slots=True)
class Scene:
    """What happened on one route."""

    states: dict[str, Path]  # by fault, where its record is
    outcomes: dict[str, Outcome]
    steady: dict[str, SteadyCaller]


def write_faulty(folder: Path, **more: Json) -> Stub:
    return write_stub(folder, tools=TOOLS, answers=ANSWERS, name="faulty", **more)


def faults_of(route: Route) -> list[str]:
    return [name for known, name in CASES if known == route]


def call_each(client: Gateway, names: list[str]) -> dict[str, Outcome]:
    """Over a pipe all at once, else one after another; an answer that never comes is an outcome too."""
    found = {}
    if isinstance(client, WrapGateway):
        for number, name in enumerate(names):
            client.send(call(f"call-{number}", name))
    began = time.monotonic()
    for number, name in enumerate(names):
        try:
            answer = client.answer_to(f"call-{number}") if isinstance(client, WrapGateway) else client.call(name)
            found[name] = Outcome(answer.message, time.monotonic() - began)
        except (OSError, EOFError, ValueError) as problem:
            found[name] = Outcome({"lost": repr(problem)}, time.monotonic() - began)
    return found


@contextmanager
def served(route: Route, folder: Path) -> Iterator[Scene]:
    """Each fault has a client of its own, over stdio with a child of its own; all clients call at once."""
    faulty, good = write_faulty(folder), write_stub(folder, tools=TOOLS, answers=ANSWERS, name="good")
    names = faults_of(route)
    with ExitStack() as stack:
        up = upstream(stack, route, faulty)
        gateway = stack.enter_context(running({"up": up, "other": stdio(good)}, folder, limits=LIMITS))
        steady = {"same": SteadyCaller(gateway.client()), "other": SteadyCaller(gateway.client("other"))}
        pool = stack.enter_context(ThreadPoolExecutor(len(names) + 2))
        clients = list(pool.map(lambda _: gateway.client(capabilities=OWN_CHILD), names))
        with calling(steady, pool):
            outcomes = at_once(pool, [(client, [name]) for client, name in zip(clients, names, strict=True)])
        yield Scene(dict.fromkeys(names, gateway.state), outcomes, steady)


def upstream(stack: ExitStack, route: Route, stub: Stub) -> Json:
    """The server's entry in the settings; over HTTP it is started here."""
    if route == "stdio":
        return stdio(stub)
    transport = cast("Transport", route)  # what is left of the routes
    return {"url": stack.enter_context(serving(stub, transport))}


@contextmanager
def wrapped(folder: Path) -> Iterator[Scene]:
    """What spoils a pipe has a wrapper of its own; the other faults happen together on one."""
    faulty = write_faulty(folder)
    names = faults_of("wrap")
    groups = [[name] for name in names if BY_NAME[name].spoils_pipe]
    groups.append([name for name in names if not BY_NAME[name].spoils_pipe])
    states: dict[str, Path] = {}
    work: list[tuple[WrapGateway, list[str]]] = []
    with ExitStack() as stack:
        for number, group in enumerate(groups):
            own = folder / f"wrapper-{number}"
            own.mkdir()
            gateway = stack.enter_context(wrapping(faulty.command, own, stderr=DEVNULL, limits=LIMITS))
            work.append((gateway, group))
            states |= dict.fromkeys(group, gateway.state)
        pool = stack.enter_context(ThreadPoolExecutor(len(groups)))
        outcomes = at_once(pool, work)
        shared = SteadyCaller(work[-1][0])
        stop = threading.Event()
        threading.Timer(0.2, stop.set).start()
        shared.run(stop)
        yield Scene(states, outcomes, {"same": shared})


def at_once(pool: ThreadPoolExecutor, work: "Sequence[tuple[Gateway, list[str]]]") -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for outcomes in [pool.submit(call_each, client, names) for client, names in work]:
        found |= outcomes.result(60)
    return found


@contextmanager
def calling(steady: dict[str, SteadyCaller], pool: ThreadPoolExecutor) -> Iterator[None]:
    """Steady callers at work for the length of the block."""
    stop = threading.Event()
    under_way = [pool.submit(caller.run, stop) for caller in steady.values()]
    try:
        yield
    finally:
        stop.set()
        for each in under_way:
            each.result(60)
