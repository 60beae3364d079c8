"""One run of all twins: through a toolkit server on either transport, or through the gateway, for either era."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.contracts.cases import call_message
from tests.contracts.rig import Answer, Gateway, HttpGateway, Json, WrapGateway, end, rig
from tests.contracts.toolkit.twins import STRICT, Twin, published, structured_of, write_twins
from tests.stubs.run import answer, write_stub

Way = Literal["stdio", "http"]
WAYS: tuple[Way, ...] = ("stdio", "http")
_KEPT = ("type", "status", "server", "mode", "rule", "reason")


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of the calls of one twin."""

    answers: list[Answer]
    reached: list[Json]  # the arguments that the tool was given
    records: list[list[str]]


def run_toolkit(way: Way, twins: list[Twin], folder: Path, *, is_modern: bool) -> dict[str, Seen]:
    journal = folder / "journal"
    journal.touch()
    write_twins(twins, folder / "twins.json")
    command = [sys.executable, "-m", "tests.contracts.toolkit.server", way, str(folder / "twins.json"), str(journal)]
    with _started(command, folder / "state") as process:
        client = _client(way, process, folder / "state", is_modern=is_modern)
        client.open()
        answers = {twin.tool: _ask(client, twin) for twin in twins}
    reached = defaultdict(list)
    for line in journal.read_text().splitlines():
        name, arguments = json.loads(line)
        reached[name].append(arguments)
    return _seen(answers, reached, client)


def run_gateway(twins: list[Twin], folder: Path, *, is_modern: bool) -> dict[str, Seen]:
    """`handfast wrap` around a server that promises and answers what the toolkit's does."""
    tools = {tool["name"]: tool for tool in published(twins)}
    results = {
        twin.tool: answer(f'{{"content":[],"structuredContent":{structured_of(twin, tools[twin.tool])}}}')
        for twin in twins
    }
    stub = write_stub(folder, tools=list(tools.values()), answers=results)
    settings = {**STRICT, "activity": {"whole_refusals": None}}  # each is looked up in the history
    with rig("wrap", stub, folder, settings, is_modern=is_modern) as gateway:
        answers = {twin.tool: _ask(gateway, twin) for twin in twins}
    reached = defaultdict(list)
    for entry in stub.journal.messages():
        if (entry.message or {}).get("method") == "tools/call":
            reached[entry.message["params"]["name"]].append(entry.message["params"].get("arguments") or {})
    return _seen(answers, reached, gateway)


def _ask(client: Gateway, twin: Twin) -> list[Answer]:
    found = []
    for text in twin.calls:
        message = call_message(client.next_id(), twin.tool, text, is_modern=client.is_modern)
        try:
            found.append(client.exchange(message))
        except (OSError, EOFError) as problem:
            # One call without an answer is one test that fails, not all of them.
            found.append(Answer(json.dumps({"error": {"message": f"no answer: {problem}"}}).encode()))
    return found


def _seen(answers: dict[str, list[Answer]], reached: dict[str, list[Json]], client: Gateway) -> dict[str, Seen]:
    records = defaultdict(list)
    for record in reversed(client.records()):
        if record["type"] in ("tool_call", "policy_decision"):
            records[record["tool"]].append([record[key] for key in _KEPT])
    return {name: Seen(found, reached[name], records[name]) for name, found in answers.items()}


@contextmanager
def _started(command: list[str], state: Path) -> Iterator["subprocess.Popen[bytes]"]:
    env = {**os.environ, "HANDFAST_STATE": str(state)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            end(process)


def _client(way: Way, process: "subprocess.Popen[bytes]", state: Path, *, is_modern: bool) -> Gateway:
    if way == "stdio":
        return WrapGateway(process, state, is_modern=is_modern)
    assert process.stdout is not None
    client = HttpGateway(f"http://127.0.0.1:{int(process.stdout.readline())}", state, is_modern=is_modern)
    client.path = "/mcp"
    return client
