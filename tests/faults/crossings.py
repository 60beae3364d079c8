"""Clients of one era in front of servers of the other, and clients of all servers at once, while servers misbehave."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.contracts.rig import MODERN_META, Answer, HttpGateway, Json, Route
from tests.faults.registry import ANSWERS, TOOLS
from tests.faults.scene import LIMITS, Outcome, Scene, SteadyCaller, calling, faults_of, upstream
from tests.gateway.running import TEXT, Serving, eventually, running
from tests.stubs.run import answer, serving, write_stub

LEGACY, MODERN = ["2025-06-18", "2025-11-25"], ["2026-07-28"]
TIMEOUT_S = 4.0  # so much happens at once here that a busy machine needs longer for what is harmless
STEADY = "other"  # a server that does no wrong
PREFIX = "io.modelcontextprotocol/"
FLOOD = 3000  # three times what may wait


@dataclass(frozen=True, slots=True)
class Crossing:
    """Who speaks to whom, and what is suffered there."""

    name: str
    is_modern: bool  # the client
    versions: list[str]  # of the servers
    suffered: dict[Route, list[str]]
    is_combined: bool = False  # at `/mcp`


EVERYTHING: dict[Route, list[str]] = {route: faults_of(route) for route in ("stdio", "http-json", "http-sse")}
# At `/mcp` every client has a session with every server, so there only those that others could notice.
SOME: dict[Route, list[str]] = {
    route: ["dies", "leaves", "hangs", "floods", "babbles"] for route in EVERYTHING if route != "http-json"
}
CROSSINGS = (
    Crossing("modern-client", True, LEGACY, EVERYTHING),
    Crossing("legacy-client", False, MODERN, EVERYTHING),
    Crossing("combined-modern-client", True, LEGACY, SOME, is_combined=True),
    Crossing("combined-legacy-client", False, [*LEGACY, *MODERN], SOME, is_combined=True),
)


class CrossingClient(HttpGateway):
    """Says enough of itself that nobody else shares its session with a server, or its process."""

    def __init__(self, base: str, state: Path, crossing: Crossing, server: str, number: int) -> None:
        super().__init__(base, state, server=server, is_modern=crossing.is_modern)
        self._prefix = ""
        if crossing.is_combined:
            self.path, self._prefix = "/mcp", f"{server}__"
        # With no authentication all modern clients are one caller: only what they can do tells them apart.
        self.capabilities: Json = {"roots": {"number": number}}
        self.meta = {**MODERN_META, f"{PREFIX}clientCapabilities": self.capabilities, f"{PREFIX}logLevel": "info"}

    def enter(self) -> None:
        """Ready to call, and to hear the log; processes take their time to start."""
        if not self.is_modern:
            self.open(self.capabilities)
            assert self.request("logging/setLevel", {"level": "info"}).result == {}
        eventually(lambda: self.request("tools/list").message.get("result", {}).get("tools"), "its list", seconds=40)

    def render(self, method: str, params: Json = None) -> Json:
        message = super().render(method, params)
        if self.is_modern:
            message["params"]["_meta"] = self.meta
        return message

    def call(self, tool: str, arguments: bytes | Json = b"{}") -> Answer:
        given = json.loads(arguments) if isinstance(arguments, bytes) else arguments
        return self.request("tools/call", {"name": self.named(tool), "arguments": given})

    def named(self, tool: str) -> str:
        return self._prefix + tool


@contextmanager
def crossed(crossing: Crossing, folder: Path) -> Iterator[dict[Route, Scene]]:
    """Every fault over every transport at the same time, on one gateway."""
    answers = {**ANSWERS, "floods": answer(TEXT, f"notify:{FLOOD}")}
    faulty = write_stub(folder, tools=TOOLS, answers=answers, name="faulty", versions=crossing.versions)
    good = write_stub(folder, tools=TOOLS, answers=ANSWERS, name="good", versions=crossing.versions)
    each = [(route, name) for route, names in crossing.suffered.items() for name in names]
    with ExitStack() as stack:
        servers: dict[str, Json] = {route: upstream(stack, route, faulty) for route in crossing.suffered}
        servers[STEADY] = {"url": stack.enter_context(serving(good, "http-json"))}
        limits = {**LIMITS, "call_timeout_s": TIMEOUT_S}
        gateway = stack.enter_context(running(servers, folder, limits=limits))
        pool = stack.enter_context(ThreadPoolExecutor(len(each) + len(servers)))
        steady = {server: SteadyCaller(enter(gateway, crossing, server, 0)) for server in servers}
        entering = [pool.submit(enter, gateway, crossing, route, number) for number, (route, _) in enumerate(each, 1)]
        clients = [found.result(60) for found in entering]
        with calling(steady, pool):
            suffering = [pool.submit(suffer, client, name) for client, (_, name) in zip(clients, each, strict=True)]
            outcomes = dict(zip(each, [found.result(60) for found in suffering], strict=True))
        yield {
            route: Scene(
                dict.fromkeys(names, gateway.state), {name: outcomes[route, name] for name in names}, dict(steady)
            )
            for route, names in crossing.suffered.items()
        }


def enter(gateway: Serving, crossing: Crossing, server: str, number: int) -> CrossingClient:
    client = CrossingClient(gateway.base, gateway.state, crossing, server, number)
    client.enter()
    return client


def suffer(client: CrossingClient, fault: str) -> Outcome:
    began = time.monotonic()
    try:
        return Outcome(client.call(fault).message, time.monotonic() - began)
    except (OSError, EOFError, ValueError) as problem:
        return Outcome({"lost": repr(problem)}, time.monotonic() - began)
