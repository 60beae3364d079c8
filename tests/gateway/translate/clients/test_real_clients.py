"""Official clients of both eras in front of a server that asks, over HTTP and over stdio."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.rig import Json
from tests.gateway.running import at_once, eventually
from tests.gateway.translate.clients.asking_clients import CLIENTS, LEGACY, drive
from tests.gateway.translate.clients.fronted import Fronted, fronted
from tests.gateway.translate.clients.scripted import ELICITATION, ROOTS, SAMPLING, ScriptedServer
from tests.parts import ROOT, Parts

STDIO = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.gateway.translate.clients.stdio_server"]
FORM, SAMPLE, PLACES = (
    {"action": "accept", "content": {"n": 9}},
    {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hm"}},
    {"roots": [{"uri": "file:///a"}]},
)


@pytest.fixture
def running(tmp_path: Path, parts: Parts) -> Iterator[Fronted]:
    with fronted(ScriptedServer(), tmp_path) as found:
        yield found


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_answers_whatever_the_server_asks(running: Fronted, client: str, transport: str) -> None:
    target = [f"{running.base}/mcp/both"] if transport == "http" else STDIO
    rounds = [{"q": ELICITATION}, {"a": SAMPLING, "b": ROOTS, "c": ELICITATION}, None]
    found = drive(client, target, {"call": ["echo", {"a": 1}]}, {"call": ["ask", {"rounds": rounds}]})
    assert found == [{"a": 1}, [{"q": FORM}, {"a": SAMPLE, "b": PLACES, "c": FORM}, None]]


@pytest.mark.parametrize("client", ["py-legacy", "py-modern", "ts1"])
def test_progress_arrives_while_a_call_is_under_way(running: Fronted, client: str) -> None:
    target = [f"{running.base}/mcp/both"]
    assert drive(client, target, {"follow": ["report", {}]}, {"heard": 1}) == [None, ["progress 1/2"]]


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", LEGACY)
def test_a_legacy_client_hears_what_it_would_hear_of_a_legacy_server(
    running: Fronted, client: str, transport: str
) -> None:
    target = [f"{running.base}/mcp/legacy"] if transport == "http" else STDIO
    lists = ["notifications/resources/list_changed", "notifications/tools/list_changed"]
    found = drive(
        client,
        target,
        {"level": "warning"},
        {"call": ["report", {}]},
        {"heard": 1},
        {"subscribe": "a:1"},
        {"call": ["touch", {}]},
        {"heard": 3},
        {"unsubscribe": "a:1"},
        {"call": ["touch", {}]},
        {"heard": 2},
    )
    assert found[:3] == [{}, None, ["log warning noted"]]
    assert (found[3], found[5]) == ({}, [*lists[:1], "notifications/resources/updated", *lists[1:]])
    assert (found[6], found[8]) == ({}, lists)


@pytest.mark.parametrize("client", LEGACY)
def test_a_legacy_client_gives_up_in_the_middle_of_a_question(running: Fronted, client: str) -> None:
    target = [f"{running.base}/mcp/legacy"]
    cancelled, echoed = drive(
        client, target, {"cancel": ["ask", {"rounds": [{"q": ELICITATION}]}]}, {"call": ["echo", {"a": 1}]}
    )
    assert (cancelled, echoed) == ("given up", {"a": 1})
    assert len(running.server.asked("tools/call")) == 2
    eventually(lambda: not running.server.listeners, "the session gone")


def test_clients_of_both_eras_at_once_do_not_meet(running: Fronted) -> None:
    target = [f"{running.base}/mcp/both"]

    def work(client: str, number: int) -> Json:
        asked = {**ELICITATION, "params": {**ELICITATION["params"], "message": "x" * number}}  # type: ignore[dict-item]  # JSON
        return drive(client, target, *[{"call": ["ask", {"rounds": [{"q": asked}] * 3}]}] * 5)

    clients = [("py-legacy", 3), ("py-modern", 5), ("ts1", 7), ("ts1", 11)]
    found = at_once(*(lambda client=client, number=number: work(client, number) for client, number in clients))
    assert found == [[[{"q": {"action": "accept", "content": {"n": number}}}] * 3] * 5 for _client, number in clients]
