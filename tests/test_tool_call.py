"""The life of one call, with a recorder in memory: each call on record exactly once, decisions before replies."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast import judgement
from handfast.clock import Clock
from handfast.core.call import strict_json as judged_text
from handfast.core.call.caller import Caller
from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.call.exchange import Record, RecordingFailed, RecordType, Status, Ticket
from handfast.core.call.policy import (
    ALLOWED,
    Blocked,
    Decision,
    InputPolicy,
    Mode,
    OutputPolicy,
    ToolPolicy,
    Violation,
    Warned,
)
from handfast.core.call.result import ResultView
from handfast.core.call.strict_json import depth_exceeds
from handfast.core.schema.compiled import ANYTHING, CompiledSchema, SchemaBounds
from handfast.slow_lane.client import LaneVerdict
from handfast.tool_call import CallPath, UnusableResult

TOTAL = b'{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}'
STRICT = ToolPolicy(InputPolicy(mode=Mode.STRICT), OutputPolicy(mode=Mode.STRICT))
OFF = ToolPolicy(InputPolicy(mode=Mode.OFF), OutputPolicy(mode=Mode.OFF))
RIGHT, WRONG = ResultView(b'{"total":1}', size=50), ResultView(b'{"total":"x"}', size=50)


class ListRecorder:
    """Keeps records in a list; what is committed is up to the test."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.waited: list[Ticket] = []
        self.is_waited_for = asyncio.Event()
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.rooms = 0

    def record(self, *records: Record) -> int:
        self.records.extend(records)
        return len(self.records)

    def record_refusal(self, _caller: str, *records: Record) -> int:
        return self.record(*records)

    async def committed(self, ticket: Ticket) -> None:
        self.waited.append(ticket)
        self.is_waited_for.set()
        await self.may_commit.wait()

    async def room(self) -> None:
        self.rooms += 1

    def digest(self, value: bytes) -> str:
        return f"digest of {len(value)} bytes"

    def shapes(self) -> list[tuple[str, str, str]]:
        return [(record.type.value, record.status.value, record.rule) for record in self.records]


class Lane:
    """A slow lane with one answer for every schema that says something."""

    def __init__(self, verdict: LaneVerdict | None = None) -> None:
        self.answer = verdict or LaneVerdict(True)
        self.asked: list[bytes] = []

    async def verdict(
        self,
        schema: CompiledSchema,
        value_text: bytes,
        *,
        wording: bool,
        show_names: bool = False,
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> LaneVerdict:
        if schema is ANYTHING:
            return LaneVerdict(True)
        self.asked.append(value_text)
        if max_depth is not None and depth_exceeds(value_text, max_depth):
            return LaneVerdict(None, problem="too deep", reason="because")
        return self.answer


class Bench:
    """A path with everything it is handed, and one call on it."""

    def __init__(
        self,
        policy: ToolPolicy = STRICT,
        *,
        input_schema: bytes | None = TOTAL,
        output_schema: bytes | None = TOTAL,
        is_known: bool = True,
        lane: Lane | None = None,
        **options: Any,  # Any: of CallPath
    ) -> None:
        self.recorder = ListRecorder()
        self.lane = lane or Lane()
        self.path = CallPath(recorder=self.recorder, lane=self.lane, clock=Clock(), **options)
        contract = (
            CompiledContract(ToolContract("t", input_schema, output_schema), SchemaBounds()) if is_known else None
        )
        self.call = self.path.open(server="up", tool="t", policy=policy, contract=contract, caller=Caller(actor="ann"))

    @property
    def shapes(self) -> list[tuple[str, str, str]]:
        return self.recorder.shapes()


def run(work: Callable[[], Coroutine[Any, Any, Decision]]) -> Decision:  # Any: a coroutine's send types
    return asyncio.run(work())


def through(bench: Bench, arguments: bytes | None, result: ResultView) -> Decision:
    """Both halves of the path, as the gateway walks it."""

    async def walk() -> Decision:
        decision = await bench.path.admit(bench.call, arguments)
        if isinstance(decision, Blocked):
            return decision
        return await bench.path.settle(bench.call, result)

    return asyncio.run(walk())


@pytest.mark.requirement("D16")
def test_a_call_that_is_fine_leaves_one_record_with_its_shape_and_no_wait() -> None:
    bench = Bench()
    assert through(bench, b'{"total":1}', RIGHT) == ALLOWED
    (record,) = bench.recorder.records
    assert (record.type, record.status, record.server, record.tool) == (RecordType.TOOL_CALL, Status.SUCCESS, "up", "t")
    assert (record.mode, record.rule, record.reason, record.actor) == ("strict", "", "", "ann")
    assert record.request_id == bench.call.request_id
    assert record.details == {
        "argument_bytes": 11,
        "argument_digest": "digest of 11 bytes",
        "argument_keys": ["total"],
        "result_bytes": 50,
    }
    assert bench.recorder.waited == []
    assert bench.recorder.rooms == 1
    assert bench.path.open_calls == 0


@pytest.mark.requirement("D16")
def test_blocked_arguments_leave_a_decision_and_the_call_and_the_reply_waits_for_both() -> None:
    bench = Bench()
    decision = through(bench, b'{"total":"x"}', RIGHT)
    assert isinstance(decision, Blocked)
    assert bench.shapes == [
        ("policy_decision", "blocked", "arguments.schema"),
        ("tool_call", "blocked", "arguments.schema"),
    ]
    assert bench.recorder.waited == [2]
    assert {record.request_id for record in bench.recorder.records} == {bench.call.request_id}
    assert bench.recorder.records[0].details == {
        "direction": "arguments",
        "contract": bench.call.contract.fingerprint if bench.call.contract else "",
    }


@pytest.mark.requirement("D16")
@pytest.mark.parametrize("policy", [STRICT, OFF], ids=["strict", "off"])
def test_a_call_that_cannot_be_forwarded_is_refused_whatever_the_mode(policy: ToolPolicy) -> None:
    bench = Bench(policy, is_known=False)
    asyncio.run(bench.path.refuse(bench.call, b"{}", Violation("dispatch.action", "None was named.")))
    assert bench.shapes == [
        ("policy_decision", "blocked", "dispatch.action"),
        ("tool_call", "blocked", "dispatch.action"),
    ]
    assert (bench.recorder.waited, bench.recorder.rooms, bench.path.open_calls) == ([2], 1, 0)
    assert bench.recorder.records[1].details == {"argument_bytes": 2, "argument_digest": "digest of 2 bytes"}


@pytest.mark.requirement("D16")
def test_a_call_that_handfast_answers_itself_is_on_record_as_every_other() -> None:
    bench = Bench(is_known=False, waits_for_all=True)
    asyncio.run(bench.path.answer(bench.call, None, Status.SUCCESS, rule="dispatch.help", reason="Explained."))
    assert bench.shapes == [("tool_call", "success", "dispatch.help")]
    assert (bench.recorder.waited, bench.recorder.rooms, bench.path.open_calls) == ([1], 1, 0)


@pytest.mark.requirement("D16")
def test_one_call_may_be_warned_about_once_in_each_direction() -> None:
    bench = Bench(ToolPolicy())
    assert isinstance(through(bench, b'{"total":"x"}', WRONG), Warned)
    assert bench.shapes == [
        ("policy_decision", "warning", "arguments.schema"),
        ("policy_decision", "warning", "result.schema"),
        ("tool_call", "success", ""),
    ]
    assert bench.recorder.waited == [2]


def carry_out(bench: Bench, arguments: bytes, forward: Callable[[], ResultView]) -> object:
    async def run_tool() -> ResultView:
        return forward()

    def view(found: ResultView) -> ResultView:
        return found

    async def walk() -> object:
        found = await bench.path.carry_out(bench.call, arguments, run_tool, view=view)
        return found  # noqa: RET504 - with a type of its own, which asyncio.run would widen

    return asyncio.run(walk())


def raising(problem: BaseException) -> Callable[[], ResultView]:
    def forward() -> ResultView:
        raise problem

    return forward


@pytest.mark.requirement("D16")
def test_the_whole_path_gives_back_the_result_itself_or_why_there_is_none() -> None:
    bench = Bench()
    assert carry_out(bench, b'{"total":1}', lambda: RIGHT) is RIGHT
    assert (bench.call.has_run, bench.shapes) == (True, [("tool_call", "success", "")])
    refused = Bench()
    never = raising(AssertionError("a refused call reached its tool"))
    assert isinstance(carry_out(refused, b'{"total":"x"}', never), Blocked)
    assert (refused.call.has_run, refused.call.end) == (False, (Status.BLOCKED, "arguments.schema"))
    blocked = Bench()
    assert isinstance(carry_out(blocked, b'{"total":1}', lambda: WRONG), Blocked)
    assert (blocked.call.has_run, blocked.call.end) == (True, (Status.BLOCKED, "result.schema"))
    unusable = Bench()
    found = carry_out(unusable, b'{"total":1}', raising(UnusableResult(Violation("result.ambiguous", "unclear"))))
    assert found == Blocked("result.ambiguous", "unclear")
    assert unusable.shapes[-1] == ("tool_call", "blocked", "result.ambiguous")


@pytest.mark.requirement("D16")
@pytest.mark.parametrize(
    ("problem", "status", "rule", "reason"),
    [
        (asyncio.CancelledError(), Status.CANCELLED, "", "The client cancelled the call."),
        (RecordingFailed("The disk is full."), Status.ERROR, "recording.failed", "The disk is full."),
        (ValueError("secret"), Status.ERROR, "", "The server answered with an error of its own."),
        (SystemExit(), Status.ERROR, "", "The server was stopped."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_whatever_forwarding_raises_is_raised_on_and_the_call_is_on_record_once(
    problem: BaseException, status: Status, rule: str, reason: str
) -> None:
    bench = Bench()
    with pytest.raises(type(problem)):
        carry_out(bench, b'{"total":1}', raising(problem))
    (record,) = bench.recorder.records
    assert (record.status, record.rule, record.reason, record.mode) == (status, rule, reason, "strict")
    assert bench.path.open_calls == 0


def test_a_block_that_forgets_the_end_of_its_call_is_a_defect_that_is_seen() -> None:
    bench = Bench()
    with pytest.raises(RuntimeError, match="without an end"), bench.path.recorded(bench.call):
        pass


ENDS: dict[str, Callable[[Bench], None]] = {
    "settled": lambda bench: asyncio.run(settle(bench, RIGHT)),
    "blocked": lambda bench: asyncio.run(settle(bench, WRONG)),
    "failed": lambda bench: asyncio.run(settle(bench, ResultView(None, is_error=True))),
    "rejected": lambda bench: asyncio.run(reject(bench)),
    "cancelled": lambda bench: bench.path.conclude(bench.call, Status.CANCELLED, reason="left"),
    "errored": lambda bench: bench.path.conclude(bench.call, Status.ERROR, rule="upstream.failed", reason="gone"),
}


async def settle(bench: Bench, result: ResultView) -> None:
    await bench.path.settle(bench.call, result)


async def reject(bench: Bench) -> None:
    await bench.path.reject(bench.call, Violation("result.ambiguous", "unclear"))


@given(st.lists(st.sampled_from(list(ENDS)), min_size=1, max_size=4))
def test_a_call_is_recorded_once_however_often_and_in_whatever_way_it_ends(ends: list[str]) -> None:
    bench = Bench()
    for end in ends:
        ENDS[end](bench)
    calls = [record for record in bench.recorder.records if record.type is RecordType.TOOL_CALL]
    decisions = [record for record in bench.recorder.records if record.type is RecordType.POLICY_DECISION]
    assert len(calls) == 1
    assert len(decisions) == (1 if ends[0] in ("blocked", "rejected") else 0)
    assert bench.path.open_calls == 0


@pytest.mark.requirement("D19")
def test_a_result_that_is_not_final_is_neither_judged_nor_left_in_progress() -> None:
    bench = Bench()
    assert through(bench, b'{"total":1}', ResultView(None, is_final=False)) == ALLOWED
    assert bench.shapes == [("tool_call", "success", "")]
    assert bench.path.open_calls == 0


@pytest.mark.requirement("D19")
@pytest.mark.requirement("S5")
@pytest.mark.parametrize("structured", [b'{"total":"x"}', b"null"])
def test_structured_content_is_judged_though_its_result_says_that_it_is_not_final(structured: bytes) -> None:
    bench = Bench()
    decision = through(bench, b'{"total":1}', ResultView(structured, is_final=False))
    assert isinstance(decision, Blocked | Warned)
    assert bench.path.open_calls == 0


@pytest.mark.requirement("P4")
def test_a_caller_that_leaves_while_the_commit_is_awaited_loses_no_record() -> None:
    async def leave() -> Bench:
        bench = Bench()
        bench.recorder.may_commit.clear()
        settling = asyncio.create_task(settle(bench, WRONG))
        await bench.recorder.is_waited_for.wait()
        settling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await settling
        bench.path.conclude(bench.call, Status.CANCELLED, reason="The call was abandoned.")
        return bench

    bench = asyncio.run(leave())
    assert bench.shapes == [("policy_decision", "blocked", "result.schema"), ("tool_call", "blocked", "result.schema")]
    assert bench.path.open_calls == 0


class Counting:
    """A validator that counts how often it is asked."""

    def __init__(self) -> None:
        self.decoded = 0
        self.judged = 0

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        decode, is_valid = judged_text.decode_judged, CompiledSchema.is_valid

        def counting_decode(text: bytes) -> object:
            self.decoded += 1
            return decode(text)

        def counting_is_valid(schema: CompiledSchema, value: object) -> bool:
            self.judged += 1
            return is_valid(schema, value)

        monkeypatch.setattr(judgement, "decode_judged", counting_decode)
        monkeypatch.setattr(CompiledSchema, "is_valid", counting_is_valid)


@pytest.mark.requirement("004-13")
@pytest.mark.parametrize(
    ("policy", "schema", "result", "decoded", "judged"),
    [
        (STRICT, TOTAL, RIGHT, 1, 1),
        (OFF, TOTAL, WRONG, 0, 0),
        (STRICT, None, WRONG, 0, 0),
        (STRICT, TOTAL, ResultView(None), 0, 0),
        (STRICT, TOTAL, ResultView(b'{"total":"x"}', is_error=True), 0, 0),
        (ToolPolicy(), b'{"type":"nonsense"}', WRONG, 1, 1),  # whether it is ambiguous needs no schema
    ],
    ids=["judged", "off", "no schema", "no content", "error", "unusable"],
)
def test_content_is_decoded_and_judged_only_where_there_is_something_to_judge_by(
    monkeypatch: pytest.MonkeyPatch,
    policy: ToolPolicy,
    schema: bytes | None,
    result: ResultView,
    decoded: int,
    judged: int,
) -> None:
    counting = Counting()
    counting.watch(monkeypatch)
    bench = Bench(policy, output_schema=schema)
    assert run(lambda: bench.path.settle(bench.call, result)) == ALLOWED
    assert (counting.decoded, counting.judged) == (decoded, judged)


@pytest.mark.requirement("D20")
def test_arguments_under_off_are_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    counting.watch(monkeypatch)
    bench = Bench(OFF)
    assert run(lambda: bench.path.admit(bench.call, b'{"a":1,"a":2}')) == ALLOWED
    assert (counting.decoded, counting.judged) == (0, 0)
    assert bench.call.details == {"argument_bytes": 13, "argument_digest": "digest of 13 bytes"}


@pytest.mark.requirement("D21")
def test_a_call_without_a_contract_is_recorded_as_unjudged() -> None:
    bench = Bench(is_known=False)
    assert through(bench, b'{"data":{}}', WRONG) == ALLOWED
    assert bench.shapes == [("tool_call", "warning", "contract.unknown")]
    unjudged = Bench(OFF, is_known=False)
    assert through(unjudged, b"{}", WRONG) == ALLOWED
    assert unjudged.shapes == [("tool_call", "success", "")]


@pytest.mark.parametrize(
    ("options", "waited"),
    [
        ({}, [1]),
        ({"waits_for_all": True}, [2]),
        ({"waits_for_decisions": False}, []),
    ],
    ids=["decisions", "all", "none"],
)
def test_the_reply_waits_for_as_much_as_the_operator_asks(
    options: dict[str, Any],  # Any: keyword arguments of CallPath
    waited: list[int],
) -> None:
    bench = Bench(**options)
    assert isinstance(run(lambda: bench.path.settle(bench.call, WRONG)), Blocked)
    assert bench.recorder.waited == waited


def test_a_plain_call_is_awaited_only_when_all_are() -> None:
    bench = Bench(waits_for_all=True)
    assert through(bench, b'{"total":1}', RIGHT) == ALLOWED
    assert bench.recorder.waited == [1]


def test_a_call_that_first_asks_the_client_something_is_awaited_too() -> None:
    bench = Bench(waits_for_all=True)
    question = ResultView(structured=None, is_error=False, is_final=False, size=10)
    assert run(lambda: bench.path.settle(bench.call, question)) == ALLOWED
    assert bench.recorder.waited == [1]
    assert bench.recorder.records[-1].details["input_required"] is True


@pytest.mark.requirement("P2")
def test_a_result_seen_twice_is_judged_again_and_recorded_once() -> None:
    bench = Bench()
    decisions = [run(lambda: bench.path.settle(bench.call, WRONG)) for _ in range(2)]
    assert decisions[0] == decisions[1]
    assert bench.shapes == [("policy_decision", "blocked", "result.schema"), ("tool_call", "blocked", "result.schema")]


def test_a_resumed_call_is_recorded_under_its_old_id_and_counts_as_no_call_in_progress() -> None:
    bench = Bench()
    through(bench, b'{"total":1}', RIGHT)
    before = bench.recorder.records[-1]
    again = bench.path.resume(
        request_id=before.request_id,
        server="up",
        tool="t",
        policy=STRICT,
        contract=bench.call.contract,
        caller=Caller(actor="ann"),
        seconds_ago=60,
    )
    assert bench.path.open_calls == 0
    assert isinstance(run(lambda: bench.path.settle(again, WRONG)), Blocked)
    assert bench.path.open_calls == 0
    *_, decision, ended = bench.recorder.records
    assert {record.request_id for record in (before, decision, ended)} == {before.request_id}
    assert 60_000 <= (ended.duration_ms or 0) < 120_000
    assert (ended.status, ended.actor) == (Status.BLOCKED, "ann")


def test_a_verdict_alone_records_nothing() -> None:
    bench = Bench()
    assert isinstance(run(lambda: bench.path.judge(bench.call, WRONG)), Blocked)
    assert bench.recorder.records == []
