"""Servers of one era: whole for clients of it, refusing those of the other as real ones do."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal  # Any: JSON

import pytest
from conformance.bridge import other_era_server
from conformance.checks import require_sound
from conformance.servers import ENVIRONMENT, PYTHON, Server, direct_url, running_direct
from conformance.suite import judge

from tests.parts import Parts

Json = dict[str, Any]  # Any: JSON
Era = Literal["legacy", "modern"]

LEGACY, MODERN = "2025-11-25", "2026-07-28"
INITIALIZE = {
    "protocolVersion": LEGACY,
    "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
    "clientInfo": {"name": "a client", "version": "1"},
}
ENVELOPE = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}, "elicitation": {}},
    }
}
ANSWERS: dict[str, Json] = {
    "elicitation/create": {"action": "accept", "content": {"name": "Alice"}},
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "a model"},
    "roots/list": {"roots": []},
}


def request(number: int, method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def program(era: Era) -> tuple[str, str]:
    return other_era_server(MODERN if era == "legacy" else LEGACY)


class Lines:
    """A server over stdio, a message a line."""

    def __init__(self, to_server: IO[bytes], from_server: IO[bytes]) -> None:
        self._to_server, self._from_server = to_server, from_server

    def send(self, message: Json) -> None:
        self._to_server.write(json.dumps(message).encode() + b"\n")
        self._to_server.flush()

    def read(self) -> Json:
        message: Json = json.loads(self._from_server.readline())
        return message

    def ask(self, message: Json) -> Json:
        self.send(message)
        return self.read()


@contextmanager
def over_stdio(era: Era) -> Iterator[Lines]:
    command = [str(PYTHON), *program(era)]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Lines(process.stdin, process.stdout)
        process.stdin.close()
        assert process.wait(20) == 0


def post(server: Server, message: Json, method: str = "POST", **headers: str) -> tuple[int, Json | None]:
    plain = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    body = json.dumps(message).encode() if method == "POST" else None
    http = urllib.request.Request(direct_url(server), body, plain | headers, method=method)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(http, timeout=20)
    with refused.value as answer:
        text = answer.read()
        return answer.code, json.loads(text) if text else None


@pytest.mark.parametrize(
    ("era", "revision", "scenarios", "checks"), [("legacy", LEGACY, 33, 88), ("modern", MODERN, 40, 137)]
)
def test_a_server_of_one_era_is_whole_for_clients_of_it(
    parts: Parts, tmp_path: Path, era: Era, revision: str, scenarios: int, checks: int
) -> None:
    with running_direct(tmp_path, program(era)) as server:
        found = judge(direct_url(server), revision, [], tmp_path / "results")
    require_sound(found)
    assert (found.passed_scenarios, found.good) == (scenarios, checks)


def test_a_legacy_server_refuses_modern_requests_over_http(parts: Parts, tmp_path: Path) -> None:
    with running_direct(tmp_path, program("legacy")) as server:
        modern = {"mcp-protocol-version": MODERN, "mcp-method": "server/discover"}
        status, said = post(server, request(1, "server/discover", ENVELOPE), **modern)
    assert said is not None
    assert (status, said["error"]["code"], said["error"]["message"]) == (400, -32600, "Bad Request: Missing session ID")


def test_a_legacy_server_does_not_know_discover_over_stdio(parts: Parts) -> None:
    with over_stdio("legacy") as server:
        assert server.ask(request(1, "server/discover", ENVELOPE))["error"]["code"] == -32601
        assert server.ask(request(2, "initialize", INITIALIZE))["result"]["protocolVersion"] == LEGACY


def test_a_modern_server_refuses_the_handshake_over_http_and_names_its_versions(parts: Parts, tmp_path: Path) -> None:
    handshake = request(1, "initialize", INITIALIZE)
    with running_direct(tmp_path, program("modern")) as server:
        plain, versioned = post(server, handshake), post(server, handshake, **{"mcp-protocol-version": LEGACY})
        others = [post(server, {}, method) for method in ("GET", "DELETE")]
    refusals = [
        (status, said["id"], said["error"]["code"], said["error"]["data"])
        for status, said in (plain, versioned)
        if said
    ]
    assert refusals == [
        (400, 1, -32020, {"supported": [MODERN]}),
        (400, 1, -32022, {"supported": [MODERN], "requested": LEGACY}),
    ]
    assert others == [(405, None)] * 2


def test_a_modern_server_refuses_the_handshake_over_stdio(parts: Parts) -> None:
    with over_stdio("modern") as server:
        error = server.ask(request(1, "initialize", INITIALIZE))["error"]
        assert (error["code"], error["data"]) == (-32022, {"supported": [MODERN], "requested": LEGACY})
        assert server.ask(request(2, "server/discover", ENVELOPE))["result"]["supportedVersions"] == [MODERN]


def test_a_legacy_server_asks_three_things_at_once_in_the_middle_of_a_call(parts: Parts) -> None:
    with over_stdio("legacy") as server:
        server.ask(request(1, "initialize", INITIALIZE))
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        server.send(request(2, "tools/call", {"name": "test_input_required_result_multiple_inputs", "arguments": {}}))
        questions = [server.read() for _ in range(3)]
        assert sorted(question["method"] for question in questions) == sorted(ANSWERS)
        for question in questions:
            server.send({"jsonrpc": "2.0", "id": question["id"], "result": ANSWERS[question["method"]]})
        answer = server.read()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (2, "All inputs received.")


def test_a_modern_server_asks_in_a_result(parts: Parts) -> None:
    call = {"name": "test_sampling", "arguments": {"prompt": "Say hello"}} | ENVELOPE
    with over_stdio("modern") as server:
        asked = server.ask(request(1, "tools/call", call))["result"]
        [(name, question)] = asked["inputRequests"].items()
        answers = {"inputResponses": {name: ANSWERS[question["method"]]}, "requestState": asked["requestState"]}
        answer = server.ask(request(2, "tools/call", call | answers))["result"]
    assert (asked["resultType"], answer["resultType"]) == ("input_required", "complete")
    assert answer["content"][0]["text"] == "LLM response: Hello"
