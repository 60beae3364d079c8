"""Sessions recorded and replayed: in this process, in another one, and where the answers differ."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from mcp import Client, StdioServerParameters

from handfast.toolkit import Actor, Args, Call, Toolbox
from handfast.toolkit.testing.session import Mode, in_memory
from handfast.toolkit.testing.transcripts.recording import Recording, record
from handfast.toolkit.testing.transcripts.replaying import (
    Difference,
    assert_replays,
    first_difference,
    replay,
    replay_through,
)
from handfast.toolkit.testing.transcripts.transcript import Transcript
from tests.demo import ROOT
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.testing.json_values import JSON

ADA = Actor(id="ada")
GUARDS = {"confirm": True, "reason": "asked to"}
STEPS: list[Any] = [
    "tools/list",
    ("create_contact", {"email": "a@b.c"}),
    ("create_contact", {"data": {"first_name": "z", "email": "a"}}),  # the answer repeats the order of the fields
    ("get_contact", {"id": 1}),
    ("get_contact", {"id": 2}),
    ("go_wrong", {"how": "raise"}),  # the answer has the id of the request
    ("go_wrong", {"how": "nan"}),
    ("delete_contact", {"id": 1, **GUARDS}),
    ("count_contacts", {}),
    ("nope", {}),
]


@pytest.mark.requirement("002-12")
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_recorded_session_replays_to_identical_answers(mode: Mode, envelope: str, tmp_path: Path) -> None:
    transcript = record(make_toolbox(envelope), STEPS, mode=mode, actor=ADA)
    assert len(transcript.turns) == len(STEPS)
    assert replay(make_toolbox(envelope), transcript) == []
    transcript.save(tmp_path / "session.jsonl")
    assert_replays(lambda: make_toolbox(envelope), Transcript.load(tmp_path / "session.jsonl"))


@pytest.mark.requirement("002-12")
def test_a_second_process_gives_the_same_answers(tmp_path: Path) -> None:
    record(make_toolbox(), STEPS, actor=ADA).save(tmp_path / "session.jsonl")
    program = (
        "from handfast.toolkit.testing import *; from tests.toolkit.contacts import make_toolbox\n"
        f"assert_replays(make_toolbox, Transcript.load({str(tmp_path / 'session.jsonl')!r}))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=60)


@pytest.mark.requirement("002-12")
def test_a_transcript_made_in_memory_replays_through_a_client_of_a_process(tmp_path: Path) -> None:
    transcript = record(make_toolbox(), STEPS, mode="legacy", actor=ADA)
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path), "HANDFAST_ACTOR": "ada"}
    server = StdioServerParameters(command=sys.executable, args=["-m", "tests.toolkit.contacts"], env=env)

    async def replayed() -> list[Difference]:
        async with Client(server, mode="legacy") as client:
            return await replay_through(client, transcript)

    assert asyncio.run(replayed()) == []


def test_steps_that_depend_on_answers_are_recorded_through_a_client() -> None:
    async def session() -> Transcript:
        async with in_memory(make_toolbox()) as client:
            recording = Recording(client)
            made = await recording.call_tool("create_contact", {"email": "a"})
            assert made.structured_content is not None
            await recording.call_tool("get_contact", {"id": made.structured_content["id"]})
            assert len((await recording.list_tools()).tools) == len((await recording.list_tools()).tools)
        return recording.transcript("contacts", mode="auto")

    transcript = asyncio.run(session())
    assert [turn.name for turn in transcript.turns] == ["create_contact", "get_contact", "tools/list", "tools/list"]
    assert replay(make_toolbox(), transcript) == []


def test_each_answer_that_differs_is_told_with_its_place() -> None:
    def box(price: Any, *, is_taxed: bool = False) -> Toolbox:
        tools = Toolbox("shop")

        @tools.read
        async def price_of() -> dict[str, Any]:
            """Say the price."""
            return {"a/b": [1, {"price": price}], **({"tax": 7} if is_taxed else {})}

        @tools.read
        async def open_today() -> bool:
            """Say whether it is open."""
            return True

        return tools

    steps: list[Any] = [("price_of", {}), ("open_today", {}), ("price_of", {})]
    transcript = record(box(5), steps)
    assert replay(box(5), transcript) == []
    path = "/result/content/0/text"
    was = '"{\\"a/b\\":[1,{\\"price\\":5}]}"'
    now = '"{\\"a/b\\":[1,{\\"price\\":5.0}]}"'
    assert replay(box(5.0), transcript) == [Difference(turn, "price_of", path, was, now) for turn in (1, 3)]
    with pytest.raises(AssertionError) as caught:
        assert_replays(box(5, is_taxed=True), transcript)
    assert str(caught.value).splitlines()[:2] == [
        "The transcript of 'shop' does not replay:",
        f"- turn 1, price_of: {path} was {was} and is " + '"{\\"a/b\\":[1,{\\"price\\":5}],\\"tax\\":7}"',
    ]


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        (1, True, ("", 1, True)),
        (1, 1.0, ("", 1, 1.0)),
        ({"a": {"b~/c": [1, 2]}}, {"a": {"b~/c": [1, 3]}}, ("/a/b~0~1c/1", 2, 3)),
        ([1], [1, 2], "/1"),
        ({"a": None}, {}, "/a"),
        ({}, [], ("", {}, [])),
    ],
)
def test_a_difference_is_a_place_and_both_values(one: Any, other: Any, place: Any) -> None:
    found = first_difference(one, other)
    assert (found[0] if isinstance(place, str) and found is not None else found) == place


@given(JSON)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert first_difference(value, value) is None


def test_in_async_code_it_is_said_what_to_use() -> None:
    async def inside() -> None:
        with pytest.raises(RuntimeError, match=r"Use `Recording\(client\)`\.$"):
            record(make_toolbox(), STEPS)
        with pytest.raises(RuntimeError, match=r"Use `await replay_through\(client, …\)`\.$"):
            replay(make_toolbox(), Transcript("s", ()))

    asyncio.run(inside())


def test_the_actor_of_a_session_is_that_of_its_replay() -> None:
    class Nothing(Args):
        pass

    tools = Toolbox("t")

    @tools.read
    async def who(args: Nothing, call: Call) -> str:
        """Say who calls."""
        return getattr(call.actor, "id", "nobody")

    transcript = record(tools, [("who", {})], actor=ADA)
    assert replay(tools, transcript) == []
    (difference,) = replay(tools, Transcript("t", transcript.turns))
    assert difference.replayed == '"{\\"result\\":\\"nobody\\"}"'
