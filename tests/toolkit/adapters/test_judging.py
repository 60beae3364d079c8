"""From the first call of a server under the contract to its end: where it is recorded, and what is left behind."""

import asyncio
import logging
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from handfast.core.call.exchange import RecordingFailed, Ticket
from handfast.toolkit import under_contract
from tests.toolkit.adapters.faulty_sdk import answer, high, low
from tests.toolkit.adapters.shop import Shop, listed
from tests.toolkit.adapters.stage import records
from tests.toolkit.adapters.wire import wired
from tests.toolkit.records import Kept

Json = Any  # Any: decoded JSON


def call(server: Any, tool: str = "create_contact", arguments: Json = None) -> Json:
    async def session() -> Json:
        async with wired(server) as wire:
            return await wire.call(tool, {"email": "a"} if arguments is None else arguments)

    return asyncio.run(session())


def recorders() -> int:
    return sum(thread.name == "handfast-activity" for thread in threading.enumerate())


@pytest.mark.parametrize("make", [high, low])
def test_calls_are_recorded_where_state_says_and_nothing_is_opened_before_the_first(make: Any, tmp_path: Path) -> None:
    server = under_contract(make(), state=tmp_path / "own")
    assert not (tmp_path / "own").exists()
    for _ in range(2):
        assert "structuredContent" in call(server)
        assert recorders() == 0  # the end of the server is the end of what its calls have opened
    assert records(tmp_path / "own") == [("tool_call", "success", "create_contact", "", "")] * 2


def test_the_environment_says_where_else_and_who(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDFAST_STATE", str(tmp_path))
    monkeypatch.setenv("HANDFAST_ACTOR", "ada")
    call(under_contract(low()))
    assert records(tmp_path) == [("tool_call", "success", "create_contact", "", "ada")]
    monkeypatch.setenv("HANDFAST_ACTIVITY", "off")
    call(under_contract(low()))
    assert len(records(tmp_path)) == 1


class Waiting(Shop):
    """One of its tools waits until it is told to go on."""

    def __init__(self) -> None:
        super().__init__([listed("wait"), listed("look")])
        self.began = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def _call(self, _context: Any, params: Any) -> Json:
        if params.name == "wait":
            self.began.set()
            await self.goes_on.wait()
        return answer({})


def test_several_connections_share_a_recorder_until_the_last_one_ends(tmp_path: Path) -> None:
    shop = Waiting()
    server = under_contract(shop.server, state=tmp_path)

    async def sessions() -> None:
        async with wired(server) as first:
            waiting = asyncio.create_task(first.call("wait"))
            await shop.began.wait()
            async with wired(server) as second:
                assert not (await second.call("look"))["isError"]
                assert recorders() == 1
            shop.goes_on.set()
            assert not (await waiting)["isError"]

    asyncio.run(sessions())
    assert recorders() == 0
    assert [record[1:3] for record in records(tmp_path)] == [("success", "look"), ("success", "wait")]


def test_calls_that_cannot_be_recorded_are_refused_until_they_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    server = under_contract(low(), state=blocked)
    text = "Calls are refused because activity records cannot be written. Report this to the operator."
    assert call(server) == {"code": -32603, "message": text}
    (told,) = [record for record in caplog.records if record.name == "handfast.toolkit"]
    assert told.levelno == logging.ERROR
    assert str(blocked) in told.message
    blocked.unlink()
    assert call(server)["structuredContent"]["id"] == 1  # the first one never reached the tool


class Failing(Kept):
    """A disk that is full: from the first record on, or only when a decision must be on it."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__()
        self._at_once = at_once

    async def room(self) -> None:
        if self._at_once:
            raise RecordingFailed("The disk is full.")

    async def committed(self, ticket: Ticket) -> None:
        raise RecordingFailed("The disk is full.")


@pytest.mark.parametrize(("at_once", "stored"), [(True, 0), (False, 1)])
def test_a_recorder_that_fails_is_an_error_of_the_protocol(at_once: bool, stored: int) -> None:
    kept = Failing(at_once=at_once)
    server = under_contract(low(), recorder=kept)

    async def session() -> None:
        async with wired(server) as wire:
            answers = [await wire.call("create_contact", {"email": "a"}), await wire.call("create_contact", {})]
            assert (
                [answer.get("message") for answer in answers] == ["The disk is full."] * 2
                if at_once
                else [
                    None,
                    "The disk is full.",
                ]
            )

    asyncio.run(session())
    assert sum(record.status == "success" for record in kept.records) == stored


def test_a_cancelled_call_is_on_record_once_and_the_server_lives() -> None:
    kept = Kept()
    shop = Waiting()
    under_contract(shop.server, recorder=kept)

    async def session() -> None:
        async with wired(shop.server, is_modern=False) as wire:
            waiting = asyncio.create_task(wire.call("wait"))
            await shop.began.wait()
            await wire.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
            waiting.cancel()
            assert not (await wire.call("look"))["isError"]

    asyncio.run(session())
    assert kept.told() == [("tool_call", "cancelled", "wait", ""), ("tool_call", "success", "look", "")]


def test_what_is_slow_to_judge_is_judged_in_the_slow_lane_which_ends_with_the_server() -> None:
    long_text = {"type": "string", "pattern": "^.{1,255}$"}  # too large a pattern to be tried in place
    shop = Shop([{"name": "heavy", "inputSchema": {"type": "object", "properties": {"a": long_text}}}])
    under_contract(shop.server, recorder=Kept())
    before = _children().count(b"slow_lane")  # other tests of this process may have theirs
    for _ in range(2):  # each run of a server has a lane of its own
        assert not call(shop.server, "heavy", {"a": "abc"})["isError"]
        assert call(shop.server, "heavy", {"a": ""})["isError"]
        assert _children().count(b"slow_lane") == before


def _children() -> bytes:
    return subprocess.run(["ps", "-o", "args", "--ppid", str(os.getpid())], capture_output=True, check=True).stdout


NOT_IN_IT = "The schema refers to something that is not in it."


@pytest.mark.requirement("D14")
@pytest.mark.requirement("S3")
def test_a_schema_that_cannot_be_used_is_told_once_and_strict_refuses_what_it_cannot_judge(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Kept()
    shop = Shop([{"name": "odd", "inputSchema": {"type": "object", "$ref": "#/$defs/none"}}])
    under_contract(shop.server, recorder=kept)
    for _ in range(2):
        assert NOT_IN_IT in call(shop.server, "odd", {"x": {}})["content"][0]["text"]
    refused = [
        ("policy_decision", "blocked", "odd", "arguments.schema"),
        ("tool_call", "blocked", "odd", "arguments.schema"),
    ]
    assert kept.told() == [("diagnostic", "warning", "odd", "schema.uncompilable"), *refused, *refused]
    (said,) = [record.getMessage() for record in caplog.records if record.name == "handfast.toolkit"]
    assert said.endswith("What it cannot judge is refused; uncompilable_schema='allow' lets it pass.")


@pytest.mark.requirement("D14")
@pytest.mark.requirement("S3")
def test_what_it_cannot_judge_passes_where_the_author_allows_it_and_undeclared_names_do_not() -> None:
    kept = Kept()
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}}
    shop = Shop([{"name": "odd", "inputSchema": schema}])
    under_contract(shop.server, recorder=kept, uncompilable_schema="allow")
    assert call(shop.server, "odd", {"x": {}})["structuredContent"] == {"x": {}}
    assert kept.records[-1].details["unjudged"] == [f"arguments: {NOT_IN_IT}"]
    assert "is not a declared field" in call(shop.server, "odd", {"data": {"x": 1}})["content"][0]["text"]
