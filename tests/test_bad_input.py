"""Servers that answer badly and schemas that are traps: a clear end for one call, and nothing that others notice."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest

from tests.contracts.rig import Json
from tests.gateway.running import (
    TEXT,
    Serving,
    at_once,
    eventually,
    outcome,
    read_records,
    running,
    stdio,
    wrapping,
)
from tests.stubs.run import Stub, answer, tool, write_stub

# --- a stdio server that answers badly -------------------------------------------------------------------------------

FAULTS = {
    "garbage": (answer(TEXT, "garbage"), -31002),
    "mute": (answer(TEXT, "silence"), -31002),
    "ambiguous": (answer(message='{"jsonrpc":"2.0","id":$ID,"id":$ID,"result":{}}'), -31001),
    "neither": (answer(message='{"jsonrpc":"2.0","id":$ID}'), -31001),
    "both": (answer(message='{"jsonrpc":"2.0","id":$ID,"result":{},"error":{}}'), -31001),
    "latin": (answer(message=b'{"jsonrpc":"2.0","id":$ID,"result":{"content":"\xe9"}}'), -31001),
}


class Rig(NamedTuple):
    gateway: Serving
    stub: Stub


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("faults")
    answers = {name: fault for name, (fault, _) in FAULTS.items()} | {"fine": answer(TEXT)}
    stub = write_stub(folder, tools=[tool(name) for name in answers], answers=answers)
    with running({"up": stdio(stub)}, folder, leaves_calls=True, limits={"call_timeout_s": 1.0}) as gateway:
        yield Rig(gateway, stub)


@pytest.mark.parametrize("name", FAULTS)
def test_a_bad_answer_of_a_stdio_server_ends_that_call_alone(rig: Rig, name: str) -> None:
    client = rig.gateway.client()
    bad, *good = at_once(
        lambda: client.call(name).message,
        *[lambda: client.call("fine").message] * 5,
    )
    assert bad["error"]["code"] == FAULTS[name][1]
    assert [one["result"] for one in good] == [json.loads(TEXT)] * 5
    rule = "upstream.timeout" if FAULTS[name][1] == -31002 else "upstream.failed"
    assert outcome(rig.gateway.state, name) == ("error", rule)


@pytest.mark.parametrize("name", FAULTS)
def test_the_same_in_front_of_a_wrapped_server(tmp_path: Path, name: str) -> None:
    answers = {name: FAULTS[name][0], "fine": answer(TEXT)}
    stub = write_stub(tmp_path, tools=[tool(name), tool("fine")], answers=answers)
    with wrapping(stub.command, tmp_path, limits={"call_timeout_s": 1.0}) as gateway:
        assert gateway.call(name).message["error"]["code"] == FAULTS[name][1]
        assert gateway.call("fine").text == "fine"


@pytest.mark.parametrize("fault", ["half_line", "forever"])
def test_a_line_that_never_ends_holds_up_its_own_child_and_no_other(tmp_path: Path, fault: str) -> None:
    """Nothing can follow on that child's output, so its calls time out; another server's do not."""
    stuck = write_stub(tmp_path, tools=[tool("t")], answers={"t": answer(TEXT, fault)}, name="stuck")
    sound = write_stub(tmp_path, tools=[tool("t")], answers={"t": answer(TEXT)}, name="sound")
    servers = {"stuck": stdio(stuck), "sound": stdio(sound)}
    limits = {"call_timeout_s": 1.0, "message_bytes": 5_000_000}
    with running(servers, tmp_path, leaves_calls=True, limits=limits) as gateway:
        bad, good = gateway.client("stuck"), gateway.client("sound")
        answers = at_once(lambda: bad.call("t").message, *[lambda: good.call("t").message] * 5)
        assert [a.get("error", {}).get("code") for a in answers[1:]] == [None] * 5
        assert answers[0]["error"]["code"] in (-31001, -31002)
        assert gateway.health()[0] == 200


# --- schemas that are traps ------------------------------------------------------------------------------------------


def nested(count: int) -> Json:
    schema: Json = {"type": "object"}
    for _ in range(count):
        schema = {
            "properties": {"v": {"type": "object"}},
            "allOf": [schema],
            "unevaluatedProperties": {"type": "string"},
        }
    return schema


def doubling(count: int) -> Json:
    definitions = {"d0": {"type": "object"}}
    for number in range(1, count):
        previous = {"$ref": f"#/$defs/d{number - 1}"}
        definitions[f"d{number}"] = {"allOf": [previous, previous]}  # type: ignore[dict-item]  # JSON
    return {"type": "object", "$defs": definitions, "$ref": f"#/$defs/d{count - 1}"}


RECURSIVE = {
    "type": "object",
    "$defs": {"n": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/m"}, {"$ref": "#/$defs/m"}]}},
    "properties": {"v": {"$ref": "#/$defs/n"}},
}
RECURSIVE["$defs"]["m"] = {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}}  # type: ignore[index]  # JSON


def deep(count: int) -> Json:
    value: Json = "no"
    for _ in range(count):
        value = {"v": value}
    return value


BOMBS: dict[str, tuple[Json, Json]] = {
    "recursive": (RECURSIVE, deep(18)),
    "unevaluated": (nested(20), deep(1) | {"w": 1}),
    "doubling": (doubling(40), {"v": 1}),
    "regex": (
        {"type": "object", "properties": {"v": {"type": "string", "pattern": "^(a+)+$"}}},
        {"v": "a" * 40 + "!"},
    ),
    "lookahead": (
        {"type": "object", "properties": {"v": {"type": "string", "pattern": "^(?=(a+)+$)"}}},
        {"v": "a" * 40 + "!"},
    ),
}


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("bombs")
    answers = {
        name: answer({"content": [{"type": "text", "text": "x"}], "structuredContent": value})
        for name, (_, value) in BOMBS.items()
    }
    tools = [tool(name, None, schema) for name, (schema, _) in BOMBS.items()]
    tools += [tool(f"in_{name}", schema) for name, (schema, _) in BOMBS.items()]
    answers |= {f"in_{name}": answer(TEXT) for name in BOMBS} | {"fine": answer(TEXT)}
    stub = write_stub(folder, tools=[*tools, tool("fine")], answers=answers)
    with running({"up": stdio(stub)}, folder) as gateway:
        yield Rig(gateway, stub)


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("direction", ["result", "arguments"])
def test_a_schema_bomb_costs_its_own_call_some_time_and_the_others_none(bombs: Rig, name: str, direction: str) -> None:
    client = bombs.gateway.client()
    tool_name, arguments = (name, {}) if direction == "result" else (f"in_{name}", BOMBS[name][1])
    finished: list[str] = []
    slowest = 0.0

    def bomb() -> Json:
        got = client.call(tool_name, arguments).message
        finished.append("bomb")
        return got

    def others() -> None:
        nonlocal slowest
        while "bomb" not in finished or len(finished) < 21:
            before = time.monotonic()
            assert client.call("fine").text == "fine"
            slowest = max(slowest, time.monotonic() - before)
            finished.append("fine")

    got, _ = at_once(bomb, others)
    assert "result" in got
    assert slowest < 1.0  # held for as long as a bomb takes, it would be many seconds
    eventually(lambda: read_records(bombs.gateway.state, type="tool_call", tool=tool_name), "the bomb's record")


class Canary(http.server.BaseHTTPRequestHandler):
    """Sings when somebody fetches."""

    heard: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.heard.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"type":"string"}')


@contextmanager
def canary() -> Iterator[str]:
    Canary.heard.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Canary) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/schema.json"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("kind", ["http", "file"])
def test_a_reference_is_never_fetched_and_the_operator_is_told_once(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "schema.json"
    secret.write_text('{"type":"string"}')
    result = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"v": 1}}
    with canary() as url:
        reference = {"$ref": url if kind == "http" else secret.as_uri()}
        tools = [tool("t", None, {"type": "object", "properties": {"v": reference}})]
        stub = write_stub(tmp_path, tools=tools, answers={"t": answer(result)})
        for _ in range(2):
            with wrapping(stub.command, tmp_path) as gateway:
                gateway.list_tools()
                assert [gateway.call("t").result for _ in range(3)] == [result] * 3
        assert Canary.heard == []
    (told,) = read_records(gateway.state, type="diagnostic")
    assert (told.rule, told.tool, told.status) == ("schema.uncompilable", "t", "warning")
    assert str(secret) not in told.reason
