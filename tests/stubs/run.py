"""Start the stub upstream from a test, and read what reached it.

stub = write_stub(tmp_path, tools=[...], answers={"add": {"result": '{"content":[]}'}})
stub.command                            # the command line for a stdio server entry
with serving(stub, "http-sse") as url:  # or "http-json"
    ...
assert stub.journal.calls("add") == []
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal  # Any: JSON as received

UPSTREAM = Path(__file__).with_name("upstream.py")
Transport = Literal["http-json", "http-sse", "sse"]
Raw = str | bytes | list[Any] | dict[str, Any]  # Any: JSON that a test wrote as Python values


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the journal: a message, or an event such as `started` or `disconnected`."""

    time: float
    raw: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    http: str = ""
    event: str = ""
    pid: int = 0
    transport: str = ""

    @property
    def bytes(self) -> bytes:
        return base64.b64decode(self.raw)

    @property
    def message(self) -> Any:  # Any: the JSON that arrived; None for what is no JSON
        try:
            return json.loads(self.bytes)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Journal:
    """Everything the stub received, in order."""

    path: Path

    def entries(self) -> list[Entry]:
        if not self.path.exists():
            return []
        # The last line may still be on its way.
        return [Entry(**json.loads(line)) for line in self.path.read_bytes().split(b"\n")[:-1]]

    def messages(self) -> list[Entry]:
        return [entry for entry in self.entries() if entry.raw]

    def methods(self) -> list[str]:
        """The methods asked for, notifications included, answers to the stub's own questions left out."""
        received = (entry.message for entry in self.messages())
        return [message["method"] for message in received if isinstance(message, dict) and "method" in message]

    def calls(self, tool: str) -> list[Entry]:
        """The tools/call messages that named this tool."""
        return [entry for entry in self.messages() if is_call(entry.message, tool)]

    def events(self, name: str) -> list[Entry]:
        return [entry for entry in self.entries() if entry.event == name]

    def wait_for(self, condition: Callable[["Journal"], object], *, seconds: float = 10) -> None:
        """Return once the condition holds. Raises: TimeoutError."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the journal never showed it; it has {self.methods()}")
            time.sleep(0.005)  # another process writes the file: there is nothing to be woken by


def is_call(message: Any, tool: str) -> bool:  # Any: whatever JSON arrived
    return isinstance(message, dict) and message.get("method") == "tools/call" and message["params"].get("name") == tool


@dataclass(frozen=True, slots=True)
class Stub:
    """A SPEC on disk, ready to be started."""

    spec: Path
    journal: Journal

    @property
    def command(self) -> list[str]:
        """The command line that starts it over stdio; it needs no environment and no working directory."""
        return [sys.executable, str(UPSTREAM), "stdio", str(self.spec)]

    def take_next(self) -> None:
        """Let every running process of this stub take over the `next` SPEC and announce it."""
        for entry in self.journal.events("started"):
            with suppress(ProcessLookupError):  # one that has ended has nobody to tell
                os.kill(entry.pid, signal.SIGUSR1)


def raw(value: Raw) -> object:
    """RAW of the SPEC: text as it is, bytes in base64, Python values as JSON text."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return value if isinstance(value, str) else json.dumps(value)


def answer(
    result: Raw | None = None,
    *faults: str,
    error: Raw | None = None,
    message: Raw | None = None,
    headers: Raw = "",
    aside: Raw = "",
    events: bytes = b"",
) -> dict[str, object]:
    """One ANSWER of the SPEC."""
    given = {"result": result, "error": error, "message": message, "headers": headers or None, "aside": aside or None}
    given["events"] = events or None
    return {"faults": list(faults), **{name: raw(value) for name, value in given.items() if value is not None}}


def tool(name: str, input_schema: object = None, output_schema: object = None) -> dict[str, object]:
    """A tool for the tools array, declared as tersely as the protocol allows."""
    declared: dict[str, object] = {"name": name, "inputSchema": input_schema or {"type": "object"}}
    return declared | ({} if output_schema is None else {"outputSchema": output_schema})


def write_stub(
    folder: Path,
    *,
    tools: Raw = "[]",
    pages: list[Raw] | None = None,
    answers: Mapping[str, object] | None = None,
    name: str = "stub",
    **more: object,
) -> Stub:
    """Write a SPEC; `more` are further keys of it (methods, versions, sessions, newline, next)."""
    journal = folder / f"{name}.journal"
    spec = folder / f"{name}.json"
    listed = raw(tools) if pages is None else [raw(page) for page in pages]
    spec.write_text(json.dumps({"journal": str(journal), "tools": listed, "answers": dict(answers or {}), **more}))
    return Stub(spec, Journal(journal))


@contextmanager
def serving(stub: Stub, transport: Transport) -> Iterator[str]:
    """Run the stub over HTTP; gives its URL."""
    command = [sys.executable, str(UPSTREAM), transport, str(stub.spec)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            port = process.stdout.readline().split()[1]
            yield f"http://127.0.0.1:{port.decode()}/mcp"
        finally:
            process.kill()
