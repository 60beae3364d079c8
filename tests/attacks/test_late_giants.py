"""An answer too large to be read, whose id comes last: it ends nobody's call but the one that it can only be to."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import Json
from tests.gateway.running import OpenPost, Serving, eventually, meanwhile, running

pytestmark = pytest.mark.requirement("F1")

SERVER = Path(__file__).with_name("late_giant.py")
LIMITS = {"message_bytes": 100_000, "body_bytes": 100_000}
PLACES = ["/mcp/up modern", "/mcp/up", "/mcp#up modern", "/mcp/compact modern"]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Serving]:
    entry: Json = {"command": sys.executable, "args": [str(SERVER)]}
    servers = {"up": entry, "compact": {**entry, "handfast": {"surface": "compact"}}}
    with running(servers, tmp_path, limits=LIMITS) as serving:
        yield serving


def callers(gateway: Serving, place: str) -> tuple[Caller, Caller]:
    path, _, era = place.partition(" ")
    found = [Caller(gateway, path, name, is_modern=era == "modern") for name in ("leaves", "stays")]
    for caller in found:
        caller.open()
    return found[0], found[1]


def seen(caller: Caller) -> list[int]:
    """How many calls the server has yet to answer, and how many it heard were given up."""
    found: list[int] = json.loads(caller.run("seen").text)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_a_late_answer_to_who_has_left_ends_no_call_of_another(gateway: Serving, place: str) -> None:
    leaves, stays = callers(gateway, place)
    assert seen(stays) == [0, 0]
    message = leaves.render("tools/call", {"name": f"{leaves.prefix}__held" if leaves.prefix else "held"})
    if leaves.server == "compact":
        message["params"] = {**message["params"], "name": "compact", "arguments": {"action": "held"}}
    post = OpenPost(leaves, json.dumps(message).encode())
    eventually(lambda: seen(stays)[0] == 1, "the call at the server")
    if not leaves.is_modern:
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}
        leaves.exchange(json.dumps(cancelled).encode())
    post.leave()
    eventually(lambda: seen(stays)[1] == 1, "the end of the call at the server")
    assert stays.run("own").text == "own"


@pytest.mark.parametrize("place", PLACES)
def test_a_list_of_our_own_that_is_too_large_ends_no_call(gateway: Serving, place: str) -> None:
    _, stays = callers(gateway, place)
    stays.run("seen")
    assert stays.run("grow").text == "grown"


@pytest.mark.parametrize("place", PLACES)
def test_the_only_request_under_way_is_told_that_its_answer_is_too_large(gateway: Serving, place: str) -> None:
    _, stays = callers(gateway, place)
    stays.run("seen")
    with meanwhile(lambda: stays.run("alone")) as found:
        assert "over the limit of 100000 bytes" in str(found.result(20).message)
