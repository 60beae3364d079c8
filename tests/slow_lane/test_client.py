"""The slow lane judges what is too heavy, ends what is too slow, and never holds up anyone else."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.slow_lane import client
from handfast.slow_lane.client import TOO_SLOW as TOO_SLOW_VERDICT
from handfast.slow_lane.client import TOO_SLOW_TO_COMPILE, LaneVerdict, SlowLane, find_refusals

TOO_SLOW = LaneVerdict(None, problem="too slow")


def compiled(schema: object) -> CompiledSchema:
    result = compile_schema(json.dumps(schema).encode())
    assert isinstance(result, CompiledSchema), result
    return result


def unevaluated(levels: int) -> dict[str, Any]:  # Any: a schema as authors write it
    schema: dict[str, Any] = {"properties": {"a": {}}}  # Any: as above
    for _ in range(levels):
        schema = {"unevaluatedProperties": False, "allOf": [schema]}
    return schema


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"{}" + b"}" * levels


HEALTHY = compiled({"properties": {"a": {"type": "integer"}}, "required": ["a"]})
SLOW_TO_JUDGE = compiled(unevaluated(24))
SLOW_TO_WORD = compiled(
    {
        "anyOf": [
            {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            {"properties": {"a": {"$ref": "#"}}, "required": ["b"]},
        ]
    }
)
_TWICE = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2, "unevaluatedProperties": False} for n in range(22)}
SLOW_TO_COMPILE = compiled({"$ref": "#/$defs/d0", "$defs": {**_TWICE, "d22": {}}})
TOO_LARGE = compiled({"allOf": [unevaluated(10), {"pattern": "^(\\p{L}{1,1000}){1,50}$"}]})
LOOK_AHEAD = compiled({"pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"})
# Matching takes two to the power of the letters.
ENDLESS = compiled({"items": {"pattern": r"^(?:(a+)\1?)+$"}})
ENDLESS_TEXT = "a" * 30 + "b"


def with_lane(steps: Callable[[SlowLane], Awaitable[None]]) -> None:
    async def run() -> None:
        lane = SlowLane()
        try:
            await steps(lane)
        finally:
            await lane.close()

    asyncio.run(run())


def worker_pid(lane: SlowLane) -> int:
    assert lane._process is not None
    return lane._process.pid


def is_running(pid: int) -> bool:
    """Whether the process exists; one that ended but was not waited for counts."""
    return Path(f"/proc/{pid}").exists()


def test_a_value_is_judged_and_described() -> None:
    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == LaneVerdict(True)
        wrong = await lane.verdict(HEALTHY, b'{"a": "s3cret"}', wording=True)
        assert wrong == LaneVerdict(False, ("a: must be an integer, not a string",))
        assert await lane.verdict(HEALTHY, b"{}", wording=False) == LaneVerdict(False)
        # The lane still answers the right question after an answer without words.
        assert await lane.verdict(HEALTHY, b'{"a": 2}', wording=True) == LaneVerdict(True)

    with_lane(steps)


@pytest.mark.requirement("F4")
def test_what_is_too_deep_is_said_so_before_it_is_decoded() -> None:
    async def steps(lane: SlowLane) -> None:
        deep = b'{"a":' + b"[" * 64 + b"]" * 64 + b"}"
        verdict = await lane.verdict(HEALTHY, deep, deadline=5, wording=True, max_depth=64)
        assert (verdict.conforms, verdict.problem) == (None, "too deep")
        verdict = await lane.verdict(HEALTHY, b'{"a":1}', deadline=5, wording=True, max_depth=64)
        assert verdict.conforms is True

    with_lane(steps)


@pytest.mark.requirement("C2")
def test_a_number_beyond_a_double_is_judged_as_the_largest_one() -> None:
    schema = compiled({"items": {"maximum": 10}})

    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(schema, b"[1E400]", wording=True) == LaneVerdict(False, ("0: must be at most 10",))
        assert await lane.verdict(schema, b"[-1E400]", wording=True) == LaneVerdict(True)

    with_lane(steps)


@pytest.mark.requirement("C1")
@pytest.mark.requirement("D14")
def test_a_bomb_is_ended_at_its_deadline_and_the_next_is_judged() -> None:
    async def steps(lane: SlowLane) -> None:
        started = time.monotonic()
        assert await lane.verdict(SLOW_TO_JUDGE, b'{"a": 1}', wording=True) == TOO_SLOW
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == LaneVerdict(True)
        assert time.monotonic() - started < 20

    with_lane(steps)


@pytest.mark.requirement("C1")
def test_a_verdict_does_not_wait_for_its_wording() -> None:
    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(SLOW_TO_WORD, nested(24), wording=True, deadline=5) == LaneVerdict(False)
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == LaneVerdict(True)

    with_lane(steps)


@pytest.mark.requirement("D14")
def test_what_compiles_too_slowly_or_not_at_all_is_uncompilable() -> None:
    async def steps(lane: SlowLane) -> None:
        late = await lane.verdict(SLOW_TO_COMPILE, b"{}", wording=True)
        assert late == LaneVerdict(None, problem="uncompilable", reason="The schema takes too long to compile.")
        never = await lane.verdict(TOO_LARGE, b"{}", wording=True)
        reason = "The pattern at #/allOf/1/pattern is too large."
        assert never == LaneVerdict(None, problem="uncompilable", reason=reason)

    with_lane(steps)


def test_a_large_pattern_is_compiled_here() -> None:
    schema = compiled({"pattern": "^.{1,255}$"})

    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(schema, b'"abc"', wording=True) == LaneVerdict(True)
        wrong = LaneVerdict(False, ("must match the pattern ^.{1,255}$",))
        assert await lane.verdict(schema, b'""', wording=True) == wrong

    with_lane(steps)


@pytest.mark.requirement("S3")
@pytest.mark.requirement("D14")
def test_a_pattern_with_look_ahead_is_judged_both_ways() -> None:
    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(LOOK_AHEAD, b'"Passw0rd"', wording=True) == LaneVerdict(True)
        wrong = LaneVerdict(False, (r"must match the pattern ^(?=.*[A-Z])(?=.*\d).{8,}$",))
        assert await lane.verdict(LOOK_AHEAD, b'"password"', wording=True) == wrong

    with_lane(steps)


@pytest.mark.requirement("S3")
@pytest.mark.requirement("C1")
def test_a_text_that_is_searched_without_end_is_given_up_and_the_worker_goes_on() -> None:
    async def steps(lane: SlowLane) -> None:
        await lane.verdict(ENDLESS, b"[]", wording=False)
        worker = worker_pid(lane)
        for _ in range(client.MOST_KILLS + 1):
            text = json.dumps([ENDLESS_TEXT]).encode()
            assert await lane.verdict(ENDLESS, text, wording=True, deadline=10) == TOO_SLOW
        assert await lane.verdict(ENDLESS, b'["aaaa"]', wording=True) == LaneVerdict(True)
        assert worker_pid(lane) == worker

    with_lane(steps)


@pytest.mark.requirement("S3")
@pytest.mark.requirement("C1")
def test_many_texts_that_each_take_a_while_are_ended_at_a_deadline_of_their_own() -> None:
    # Each is a little short of being given up; that they match or not is all the same.
    schema = compiled({"items": {"anyOf": [{"pattern": r"^(?:(a+)\1?)+$"}, True]}})
    text = json.dumps(["a" * 12 + "b"] * 20_000).encode()

    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(schema, json.dumps(["a" * 12 + "b"]).encode(), wording=False) == LaneVerdict(True)
        worker = worker_pid(lane)
        started = time.monotonic()
        assert await lane.verdict(schema, text, wording=True, deadline=600) == TOO_SLOW
        assert time.monotonic() - started < 20
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == LaneVerdict(True)
        assert worker_pid(lane) != worker

    with_lane(steps)


@pytest.mark.requirement("D7")
def test_scalars_sent_as_text_count_as_what_they_spell_where_that_is_asked_for() -> None:
    schema = compiled({"properties": {"n": {"type": "integer"}, "p": {"pattern": "^(?!x)"}}})

    async def steps(lane: SlowLane) -> None:
        assert await lane.verdict(schema, b'{"n": "3"}', wording=False) == LaneVerdict(False)
        assert await lane.verdict(schema, b'{"n": "3"}', wording=False, lenient=True) == LaneVerdict(True)
        assert await lane.verdict(schema, b'{"n": "3", "p": "x"}', wording=False, lenient=True) == LaneVerdict(False)

    with_lane(steps)


@pytest.mark.requirement("C1")
def test_a_schema_that_was_too_slow_is_tried_again_after_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(client, "monotonic", lambda: now)
    trouble = client._SchemaTrouble()
    said = [trouble.verdict]
    for _ in range(client.MOST_KILLS):
        trouble.blame(TOO_SLOW_VERDICT)
    said.append(trouble.verdict)
    now += client.REST_SECONDS
    said.append(trouble.verdict)
    # What cannot be compiled in time is the schema's own fault, and stays so.
    for _ in range(client.MOST_KILLS):
        trouble.blame(TOO_SLOW_TO_COMPILE)
    now += 10 * client.REST_SECONDS
    assert [*said, trouble.verdict] == [None, TOO_SLOW_VERDICT, None, TOO_SLOW_TO_COMPILE]


@pytest.mark.requirement("C1")
def test_a_schema_that_was_too_slow_three_times_is_answered_at_once() -> None:
    async def steps(lane: SlowLane) -> None:
        for _ in range(3):
            assert await lane.verdict(SLOW_TO_JUDGE, b'{"a": 1}', wording=True, deadline=0.05) == TOO_SLOW
        started = time.monotonic()
        assert await lane.verdict(SLOW_TO_JUDGE, b'{"a": 1}', wording=True, deadline=20) == TOO_SLOW
        assert time.monotonic() - started < 5

    with_lane(steps)


def test_only_so_many_schemas_are_remembered() -> None:
    async def steps(lane: SlowLane) -> None:
        for number in range(client.MOST_REMEMBERED + 10):
            lane._trouble(str(number))
        assert (len(lane._troubles), "9" in lane._troubles, "10" in lane._troubles) == (
            client.MOST_REMEMBERED,
            False,
            True,
        )

    with_lane(steps)


@pytest.mark.requirement("C1")
def test_the_loop_stays_responsive_during_a_bomb() -> None:
    async def steps(lane: SlowLane) -> None:
        await lane.verdict(HEALTHY, b"{}", wording=False)
        bomb = asyncio.ensure_future(lane.verdict(SLOW_TO_JUDGE, b'{"a": 1}', wording=True, deadline=0.5))
        longest, last = 0.0, time.monotonic()
        while not bomb.done():
            await asyncio.sleep(0.005)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        assert await bomb == TOO_SLOW
        assert longest < 0.25

    with_lane(steps)


def test_jobs_are_judged_one_at_a_time_in_the_order_they_came() -> None:
    async def steps(lane: SlowLane) -> None:
        order: list[int] = []

        async def ask(number: int) -> LaneVerdict:
            verdict = await lane.verdict(HEALTHY, b'{"a": %d}' % number if number % 2 else b"{}", wording=False)
            order.append(number)
            return verdict

        verdicts = await asyncio.gather(*[ask(number) for number in range(20)])
        assert verdicts == [LaneVerdict(bool(number % 2)) for number in range(20)]
        assert order == list(range(20))

    with_lane(steps)


def test_a_caller_who_leaves_does_not_mix_up_the_answers() -> None:
    async def steps(lane: SlowLane) -> None:
        await lane.verdict(HEALTHY, b"{}", wording=False)
        leaving = asyncio.ensure_future(lane.verdict(HEALTHY, b'{"a": "x"}', wording=True))
        waiting = asyncio.ensure_future(lane.verdict(HEALTHY, b"{}", wording=True))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        leaving.cancel()
        waiting.cancel()
        await asyncio.wait([leaving, waiting])
        assert (leaving.cancelled(), waiting.cancelled()) == (True, True)
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == LaneVerdict(True)
        assert lane._waiting == 0

    with_lane(steps)


def test_a_crash_counts_like_being_too_slow() -> None:
    async def steps(lane: SlowLane) -> None:
        for _ in range(3):
            await lane.verdict(HEALTHY, b"{}", wording=False)
            job = asyncio.create_task(lane.verdict(SLOW_TO_JUDGE, b'{"b": 1}', wording=True, deadline=10))
            await asyncio.sleep(0)  # lets the job take its turn, which no other holds
            assert lane._turn.locked()
            os.kill(worker_pid(lane), signal.SIGKILL)
            assert await job in (TOO_SLOW, TOO_SLOW_TO_COMPILE)
        assert (await lane.verdict(SLOW_TO_JUDGE, b"{}", wording=True)).conforms is None
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == LaneVerdict(True)

    with_lane(steps)


def test_too_many_callers_are_turned_away() -> None:
    async def steps(lane: SlowLane) -> None:
        asked = [lane.verdict(HEALTHY, b'{"a": 1}', wording=False) for _ in range(client.MOST_WAITING + 5)]
        verdicts = await asyncio.gather(*asked)
        assert (verdicts.count(LaneVerdict(True)), verdicts.count(TOO_SLOW)) == (client.MOST_WAITING + 1, 4)

    with_lane(steps)


def test_the_worker_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")

    async def steps(lane: SlowLane) -> None:
        await lane.verdict(HEALTHY, b"{}", wording=False)
        environment = Path(f"/proc/{worker_pid(lane)}/environ").read_bytes()
        names = {entry.partition(b"=")[0].decode() for entry in environment.split(b"\0") if entry}
        assert names <= set(client._KEPT_ENVIRONMENT)

    with_lane(steps)


def test_nothing_is_left_after_close() -> None:
    async def steps(lane: SlowLane) -> None:
        await lane.verdict(HEALTHY, b"{}", wording=False)
        pid = worker_pid(lane)
        under_way = asyncio.ensure_future(lane.verdict(SLOW_TO_JUDGE, b'{"a": 1}', wording=True, deadline=30))
        await asyncio.sleep(0)
        await lane.close()
        assert await under_way == TOO_SLOW
        assert not is_running(pid)
        assert await lane.verdict(HEALTHY, b'{"a": 1}', wording=True) == TOO_SLOW

    with_lane(steps)


ORPHAN = """
import asyncio, sys
from tests.slow_lane.test_client import SLOW_TO_JUDGE, HEALTHY, SlowLane, worker_pid

async def main():
    lane = SlowLane()
    await lane.verdict(HEALTHY, b"{}", wording=False)
    pid = worker_pid(lane)
    if sys.argv[1] == "busy":
        job = asyncio.ensure_future(lane.verdict(SLOW_TO_JUDGE, b'{"a": 1}', wording=True, deadline=1))
        await asyncio.sleep(0.3)
    print(pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_no_worker_outlives_a_parent_that_was_killed(state: str) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", ORPHAN, state]
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 20
    while is_running(pid) and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "the worker is still running"
        time.sleep(0.02)


TOO_LATE = "The schema takes too long to compile."
TOO_BIG = "The pattern at #/allOf/1/pattern is too large."


@pytest.mark.requirement("S3")
def test_each_schema_that_the_worker_refuses_is_found_with_its_reason() -> None:
    asked = [LOOK_AHEAD, TOO_LARGE, HEALTHY, SLOW_TO_COMPILE, HEALTHY, TOO_LARGE]
    assert list(find_refusals(asked)) == [(TOO_LARGE, TOO_BIG), (SLOW_TO_COMPILE, TOO_LATE), (TOO_LARGE, TOO_BIG)]


def test_nothing_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WORKER", ("no such program",))
    assert list(find_refusals([])) == []


def test_without_a_worker_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (("no such program",), ("false",)):
        monkeypatch.setattr(client, "WORKER", command)
        assert list(find_refusals([TOO_LARGE, HEALTHY])) == []


def test_a_schema_that_is_slow_to_judge_can_still_be_compiled() -> None:
    slow = compile_schema(json.dumps({"pattern": "^(?!x)"}).encode())
    assert isinstance(slow, CompiledSchema)
    assert list(find_refusals([slow, HEALTHY])) == []
