"""What is found out about arguments and results: what is judged in place, what in the slow lane, what not at all."""

import json

import pytest

from handfast.core.call.exchange import Exchange
from handfast.core.call.policy import ALLOWED, Blocked, InputPolicy, Mode, OutputPolicy, Posture, ToolPolicy
from handfast.core.call.result import ResultView
from handfast.core.schema.compiled import UncompilableSchema
from handfast.slow_lane.client import LaneVerdict
from tests.test_tool_call import TOTAL, WRONG, Bench, Lane, run, through


@pytest.mark.requirement("C1")
@pytest.mark.requirement("D14")
@pytest.mark.parametrize(
    ("verdict", "rule", "words"),
    [
        (LaneVerdict(True), "", ""),
        (LaneVerdict(False, ("total: must be an integer",)), "result.schema", "total: must be an integer"),
        (LaneVerdict(False), "result.schema", "the schema was not met"),
        (LaneVerdict(None, problem="too slow"), "result.schema", "took too long"),
        (LaneVerdict(None, ("an object has the same key twice",), "ambiguous"), "result.ambiguous", "same key twice"),
        (LaneVerdict(None, problem="uncompilable", reason="because"), "result.schema", "cannot be used (because)"),
    ],
    ids=["conforms", "words", "no words", "too slow", "ambiguous", "uncompilable"],
)
def test_what_is_too_heavy_in_place_is_decided_by_the_slow_lane(verdict: LaneVerdict, rule: str, words: str) -> None:
    bench = Bench(lane=Lane(verdict))
    large = b'{"total":1,"pad":"%s"}' % (b"x" * 400_000)
    decision = run(lambda: bench.path.settle(bench.call, ResultView(large)))
    assert bench.lane.asked == [large]
    assert (decision.rule if isinstance(decision, Blocked) else "") == rule
    assert words in (decision.reason if isinstance(decision, Blocked) else "")


def policies(mode: Mode, posture: Posture | None = None) -> ToolPolicy:
    return ToolPolicy(
        InputPolicy(mode=mode, uncompilable_schema=posture), OutputPolicy(mode=mode, uncompilable_schema=posture)
    )


UNJUDGED = [
    (policies(Mode.WARN), "allowed"),
    (policies(Mode.STRICT), "blocked"),
    (policies(Mode.STRICT, Posture.ALLOW), "allowed"),
    (policies(Mode.STRICT, Posture.BLOCK), "blocked"),
    (policies(Mode.WARN, Posture.ALLOW), "allowed"),
    (policies(Mode.WARN, Posture.BLOCK), "warned"),
]


@pytest.mark.requirement("D14")
@pytest.mark.requirement("S3")
@pytest.mark.parametrize(("policy", "ends"), UNJUDGED)
@pytest.mark.parametrize("is_known_here", [True, False], ids=["here", "in the lane"])
def test_what_a_schema_cannot_judge_is_marked_and_passes_by_posture_or_by_mode(
    policy: ToolPolicy, ends: str, is_known_here: bool
) -> None:
    schema = b'{"properties":{"total":{"type":"nonsense"}}}' if is_known_here else TOTAL
    large = b'{"total":1,"pad":"%s"}' % (b"x" * 400_000)

    def bench() -> Bench:
        lane = Lane(LaneVerdict(True) if is_known_here else LaneVerdict(None, problem="uncompilable", reason="because"))
        return Bench(policy, input_schema=schema, output_schema=schema, lane=lane)

    why = "The schema is not valid at #/properties/total/type." if is_known_here else "because"
    calling, answering = bench(), bench()
    decisions = [
        run(lambda: calling.path.admit(calling.call, large)),
        run(lambda: answering.path.settle(answering.call, ResultView(large))),
    ]
    assert [type(decision).__name__.lower() for decision in decisions] == [ends, ends]
    assert calling.call.details["unjudged"] == [f"arguments: {why}"]
    assert answering.call.details["unjudged"] == [f"result: {why}"]


@pytest.mark.requirement("D14")
def test_the_operator_hears_of_a_schema_that_cannot_be_used() -> None:
    told: list[tuple[str, str]] = []

    def tell(call: Exchange, schema: UncompilableSchema, direction: str) -> None:
        told.append((call.tool, direction))

    bench = Bench(policies(Mode.WARN), input_schema=b'{"type":"nonsense"}', output_schema=b"[]", on_uncompilable=tell)
    assert through(bench, b'{"a":{}}', WRONG) == ALLOWED
    assert told == [("t", "arguments"), ("t", "result")]
    assert bench.call.details["unjudged"] == [
        "arguments: The schema is not valid at #/type.",
        "result: The schema is neither an object nor a boolean.",
    ]
    assert bench.recorder.records[-1].details["unjudged"] == bench.call.details["unjudged"]


@pytest.mark.requirement("D17")
def test_bodies_are_kept_only_where_asked_for_and_without_secrets() -> None:
    arguments, result = b'{"total":1,"password":"hunter2"}', ResultView(b'{"total":1,"note":"Bearer abc"}')
    plain, keeping = Bench(), Bench(keeps_bodies=True)
    through(plain, arguments, result)
    through(keeping, arguments, result)
    assert plain.call.details.keys() & {"arguments", "structured_content"} == set()
    assert json.loads(str(keeping.call.details["arguments"])) == {"total": 1, "password": "[redacted]"}
    assert json.loads(str(keeping.call.details["structured_content"])) == {"total": 1, "note": "[redacted]"}
