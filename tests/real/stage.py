"""Where whole sessions are held: servers of every era over both transports, one gateway before them, and `wrap`."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from handfast.core.call.exchange import Record
from tests.contracts.rig import serve
from tests.gateway.running import eventually, read_records
from tests.parts import FOLDER, PYTHON, ROOT, Mode, Outcome, Parts, Sdk, Session, Target, free_port, wait_for_port
from tests.real.gateways import wrap_command
from tests.real.sessions import STRICT
from tests.real.whole_session import Part, everything_session, expected_records, witness_session

# The witness speaks both eras, `modern` is the witness without the older one, and npm's everything knows only that.
ServerName = Literal[
    "witness-http",
    "witness-stdio",
    "witness-sse",
    "modern-http",
    "modern-stdio",
    "everything-http",
    "everything-stdio",
    "everything-sse",
]
Call = tuple[str, str]  # a tool, and how the call ended
MODES: Mapping[Sdk, Sequence[Mode]] = {
    "py": ("legacy", "2026-07-28"),
    "fastmcp": ("legacy", "2026-07-28"),
    "ts": ("legacy", "2026-07-28"),
    "ts1": ("legacy",),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the gateway offers a server, and what it puts before the server's own names there."""

    name: str
    path: str = "/mcp/{server}"
    prefix: str = ""


OWN = Endpoint("own")
ALL = Endpoint("all", "/mcp", "{server}__")


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a server. Without an endpoint it is not `serve` that stands in between: `wrap`, or nothing."""

    server: ServerName
    endpoint: Endpoint | None = None
    is_wrapped: bool = False
    asks: bool = True  # the client declares that it can be asked, which gets it a child process of its own

    @property
    def name(self) -> str:
        via = self.endpoint.name if self.endpoint else "wrap" if self.is_wrapped else "direct"
        return f"{self.server}-{via}" + ("" if self.asks else "-shared")

    @property
    def direct(self) -> "Route":
        """The same server, or its twin of both eras, with nothing in between; over HTTP, where it runs already."""
        return Route("everything-http" if self.server.startswith("everything") else "witness-http")

    @property
    def is_merged(self) -> bool:
        return self.endpoint is ALL

    @property
    def prefix(self) -> str:
        return self.endpoint.prefix.format(server=self.server) if self.endpoint else ""

    def is_bridged(self, mode: Mode) -> bool:
        """Whether the server is of the other era alone, so that without the gateway there is no session at all."""
        return self.server.startswith("modern" if mode == "legacy" else "everything")

    def asks_in_results(self, mode: Mode) -> bool:
        """Whether questions pass through the gateway in the modern form: between eras, and always at `/mcp`."""
        return mode != "legacy" or self.is_merged or self.is_bridged(mode)

    def direct_mode(self, mode: Mode) -> Mode:
        """The mode of the session to compare with: a modern client speaks to everything in the older era."""
        return "legacy" if self.is_bridged(mode) else mode

    def suits(self, sdk: Sdk, mode: Mode) -> bool:
        """What a session would show that no other shows.

        `wrap` does nothing for one client or era that it does not for another, so each has it once. Modern clients
        share a child whatever they declare. A server of one era is for clients of the other; where the eras fit, the
        witness shows as much, and everything once more, because it is somebody else's.
        """
        if self.is_wrapped:
            return mode == ("legacy" if sdk in ("py", "ts1") else "2026-07-28")
        if self.endpoint is None:
            return mode == "legacy" or self.server.startswith("witness")
        if self.server.startswith("modern") or not self.asks:
            return mode == "legacy"
        return True


SERVED = (
    *(Route(server, OWN) for server in ("witness-http", "witness-stdio", "everything-http", "everything-stdio")),
    *(Route(server, OWN) for server in ("modern-http", "modern-stdio")),
    *(Route(server, OWN) for server in ("witness-sse", "everything-sse")),
    Route("witness-stdio", OWN, asks=False),
    # One of each era, over each transport: each client meets each of them at `/mcp`, with all eight behind it.
    *(Route(server, ALL) for server in ("witness-stdio", "everything-http", "modern-http", "everything-sse")),
)
WRAPPED = Route("witness-stdio", is_wrapped=True)
ROUTES: Mapping[str, Route] = {route.name: route for route in (*SERVED, WRAPPED)}


@dataclass(slots=True)
class Stage:
    """The running servers and gateway, and the sessions that were held so far, each client's all at once."""

    parts: Parts
    folder: Path
    targets: Mapping[ServerName, Target]
    base: str
    _reports: dict[tuple[Sdk, Mode, Route], list[Outcome]] = field(default_factory=dict)
    _records: dict[Sdk, list[Record]] = field(default_factory=dict)

    def report(self, sdk: Sdk, mode: Mode, route: Route) -> list[Outcome]:
        if sdk not in self._records:
            self._hold_sessions(sdk)
        return self._reports[sdk, mode, route]

    def calls(self, sdk: Sdk, server: ServerName) -> tuple[list[Call], list[Call]]:
        """Tool and status of every call of a client's sessions with a server: on record, and as it should be."""
        if sdk not in self._records:
            self._hold_sessions(sdk)
        found = [(record.tool, record.status.value) for record in self._records[sdk] if record.server == server]
        return sorted(found), sorted(
            call for route in SERVED if route.server == server for call in self._due(sdk, route)
        )

    def wrapped_calls(self, sdk: Sdk, mode: Mode) -> tuple[list[Call], list[Call]]:
        """The same for the session through `wrap`, in the order of the calls."""
        self.report(sdk, mode, WRAPPED)
        found = read_records(self._wrap_folder(sdk, mode) / "state", type="tool_call")
        expected = expected_records(self.script(sdk, mode, WRAPPED))
        return [(record.tool, record.status.value) for record in found], expected

    def _due(self, sdk: Sdk, route: Route) -> list[Call]:
        modes = [mode for mode in MODES[sdk] if route.suits(sdk, mode)]
        parts = [part for mode in modes for part in self.script(sdk, mode, route)]
        # `/mcp` knows every name, so it asks no server about one that there is not.
        return expected_records([part for part in parts if not (route.is_merged and part.name == "unknown tool")])

    def script(self, sdk: Sdk, mode: Mode, route: Route) -> Sequence[Part]:
        if route.server.startswith("everything"):
            number = _number(sdk, mode, route)
            return everything_session(number, asks_in_results=route.asks_in_results(mode))
        return witness_session(tag(sdk, mode, route), asks=route.asks, asks_in_results=route.asks_in_results(mode))

    def _hold_sessions(self, sdk: Sdk) -> None:
        """One process for all of a client's sessions: starting it takes longer than most of them."""
        directs = dict.fromkeys(route.direct for route in ROUTES.values())
        keys = [
            (sdk, mode, route)
            for mode in MODES[sdk]
            for route in (*directs, *ROUTES.values())
            if route.suits(sdk, mode)
        ]
        before = len(self.recorded())
        reports = self.parts.sessions(sdk, [self._session(*key) for key in keys])
        self._reports.update(zip(keys, reports, strict=True))
        due = before + sum(len(self._due(sdk, route)) for route in SERVED)
        eventually(lambda: len(self.recorded()) >= due, "every call on record")
        self._records[sdk] = self.recorded()[before:]

    def recorded(self) -> list[Record]:
        """Every call through the gateway so far."""
        return read_records(self.folder / "state", type="tool_call")

    def _session(self, sdk: Sdk, mode: Mode, route: Route) -> Session:
        steps = [part.for_endpoint(route.prefix) for part in self.script(sdk, mode, route)]
        return {"target": self._target(sdk, mode, route), "mode": mode, "answers": route.asks, "steps": steps}

    def _target(self, sdk: Sdk, mode: Mode, route: Route) -> Target:
        if route.endpoint is not None:
            return self.base + route.endpoint.path.format(server=route.server)
        target = self.targets[route.server]
        if not route.is_wrapped:
            return target
        folder = self._wrap_folder(sdk, mode)
        folder.mkdir()
        flags = ("--name", route.server, "--input", "strict", "--output", "strict")
        return wrap_command(folder, list(target), *flags)

    def _wrap_folder(self, sdk: Sdk, mode: Mode) -> Path:
        return self.folder / f"wrap-{sdk}-{mode}"

    # --- what the servers saw --------------------------------------------------------------------------------------

    def events(self, wanted: str) -> list[str]:
        """What the witness wrote down about the call with this tag, oldest first."""
        journal = self.folder / "journal"
        lines = [line.split(" ", 1) for line in journal.read_text().splitlines()] if journal.exists() else []
        return [event for event, of in lines if of == wanted]

    def cancelled_on_wire(self, part: Part) -> bool:
        """Whether server-everything was told over stdio to stop this very call; its tool does not heed it."""
        messages = [json.loads(line) for line in (self.folder / "wire").read_text().splitlines()]
        seconds = part.step["cancel"]["arguments"]["duration"]
        called = [m.get("params", {}).get("arguments", {}).get("duration") == seconds for m in messages]
        begun = called.index(True)
        return any(
            message.get("method") == "notifications/cancelled"
            and message["params"]["requestId"] == messages[begun]["id"]
            for message in messages[begun:]
        )


def tag(sdk: Sdk, mode: Mode, route: Route) -> str:
    return f"{sdk} {mode} {route.name}"


def _number(sdk: Sdk, mode: Mode, route: Route) -> int:
    """A number that no other session has."""
    names = [*ROUTES, *(r.direct.name for r in ROUTES.values())]
    clients = [(one, its) for one, modes in MODES.items() for its in modes]
    return clients.index((sdk, mode)) * len(names) + names.index(route.name)


@contextmanager
def staged(parts: Parts, folder: Path) -> Iterator[Stage]:
    environment = ["env", f"PYTHONPATH={FOLDER / 'everything'}:{ROOT}", f"WITNESS_JOURNAL={folder / 'journal'}"]
    witness = [*environment, str(PYTHON), "-m", "tests.real.witness_server"]
    modern = [*environment, str(PYTHON), "-m", "tests.real.modern_witness"]
    # In this shape the server itself is the child: its tool works on when it is cancelled, and only a signal ends it.
    tap = 'exec "$@" < <(tee -a "$0")'
    tapped = ["bash", "-c", tap, str(folder / "wire"), *parts.everything]
    with (
        _listening(witness) as witness_url,
        _listening(modern) as modern_url,
        _listening([*witness, "--sse"], "sse") as witness_sse_url,
        parts.everything_over_http() as everything_url,
        parts.everything_over_http("sse") as everything_sse_url,
    ):
        targets: dict[ServerName, Target] = {
            "witness-http": witness_url,
            "witness-stdio": witness,
            "modern-http": modern_url,
            "modern-stdio": modern,
            "witness-sse": witness_sse_url,
            "everything-http": everything_url,
            "everything-sse": everything_sse_url,
            "everything-stdio": tapped,
        }
        entries = {
            name: {"url": target, "type": name.rpartition("-")[2]}
            if isinstance(target, str)
            else {"command": target[0], "args": target[1:]}
            for name, target in targets.items()
        }
        # The default is for a quiet machine; here six servers start while others run.
        limits = {"learn_timeout_s": 60}
        with serve({"mcpServers": entries, "limits": limits, **STRICT}, folder) as base:
            yield Stage(parts, folder, targets, base)


@contextmanager
def _listening(command: Sequence[str], path: str = "mcp") -> Iterator[str]:
    port = free_port()
    command = [*command, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port(port, process)
            yield f"http://127.0.0.1:{port}/{path}"
        finally:
            process.kill()
