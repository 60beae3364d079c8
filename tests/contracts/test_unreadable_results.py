"""Answers with NaN and Infinity, which Python servers write by default: judged under the mode, never lost (D20, B5)."""

import pytest

from tests.contracts import rig as rigs
from tests.contracts.cases import Case, Seen, case, run_cases, unregister
from tests.contracts.judged import RIGHT, TOTAL, is_blocked, is_warned, structured
from tests.contracts.rig import ROUTES

NO_NUMBER = "the structured content is ambiguous: it holds NaN or Infinity, which JSON does not have"
INSIDE = {
    f"{name}_{mode}": case(f"{name}_{mode}", None, TOTAL, result=structured(text), output_mode=mode)
    for name, text in {"nan": '{"total":1,"x":NaN}', "infinity": '{"total":1,"x":[-Infinity]}'}.items()
    for mode in ("warn", "strict")
}
OUTSIDE = case("nan_outside", None, TOTAL, result=structured(RIGHT, ',"_meta":{"x":NaN}'), output_mode="strict")
AFTERWARDS = case("after_all_that", None, TOTAL, result=structured(RIGHT), output_mode="strict")
CASES: list[Case] = unregister(*INSIDE.values(), OUTSIDE, AFTERWARDS)


@pytest.fixture(scope="module", params=ROUTES)
def odd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    patience = rigs.ANSWER_SECONDS
    rigs.ANSWER_SECONDS = 2.0  # an answer that is lost is lost soon
    try:
        return run_cases(CASES, request.param, tmp_path_factory.mktemp("odd"))
    finally:
        rigs.ANSWER_SECONDS = patience


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("name", ["nan", "infinity"])
def test_a_number_that_json_does_not_have_is_a_violation_under_the_mode(odd: Seen, name: str) -> None:
    assert is_warned(odd[INSIDE[f"{name}_warn"]], "result.ambiguous", NO_NUMBER)
    assert is_blocked(odd[INSIDE[f"{name}_strict"]], "result.ambiguous", NO_NUMBER)


@pytest.mark.requirement("B5")
@pytest.mark.parametrize("which", CASES, ids=lambda which: which.tool)
def test_a_call_gets_an_answer_and_one_record_whatever_the_server_wrote(odd: Seen, which: Case) -> None:
    outcome = odd[which]
    assert "no answer" not in outcome.answer.raw.decode()
    assert len([record for record in outcome.records if record["type"] == "tool_call"]) == 1
