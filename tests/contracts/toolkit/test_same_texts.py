"""Every case that an authored tool can meet: over stdio and HTTP, in both eras, to the letter what the gateway says."""

import asyncio
import json
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest

from handfast.core.answers.outcome import Failed
from handfast.toolkit import Args, ContractError, Toolbox, ToolHandler, read_tool
from tests.contracts.rig import Answer
from tests.contracts.toolkit.apart import APART, NUMBERS, WRITTEN, reason_apart
from tests.contracts.toolkit.runs import WAYS, Seen, run_gateway, run_toolkit
from tests.contracts.toolkit.twins import Twin, all_cases, has_model, model_of, toolbox_of, twin_of

CASES = {case.tool: case for case in all_cases()}
ASKED = {name: twin_of(case) for name, case in CASES.items() if reason_apart(name) is None}


@pytest.fixture(scope="module")
def at_the_gateway(tmp_path_factory: pytest.TempPathFactory, is_modern: bool) -> dict[str, Seen]:
    return run_gateway(list(ASKED.values()), tmp_path_factory.mktemp("gateway"), is_modern=is_modern)


@pytest.fixture(scope="module", params=WAYS)
def authored(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, is_modern: bool
) -> dict[str, Seen]:
    twins = list(ASKED.values())
    return run_toolkit(request.param, twins, tmp_path_factory.mktemp("toolkit"), is_modern=is_modern)


@pytest.fixture(autouse=True)
def _long_numbers() -> Iterator[None]:
    kept = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(kept)


def told(answer: Answer) -> tuple[str, Any]:
    """What an agent gets: a text that says no, without the code that ends an authored tool's own failure; or data."""
    if not answer.is_error:
        return "data", answer.result["structuredContent"]
    code = answer.result.get("_meta", {}).get("handfast/code") if "result" in answer.message else None
    return "error", answer.text.removesuffix(f" [{code}]")


@pytest.mark.requirement("000-8")
@pytest.mark.requirement("000-13")
@pytest.mark.requirement("D2")
@pytest.mark.requirement("D5")
@pytest.mark.requirement("D20")
@pytest.mark.parametrize("name", ASKED)
def test_an_authored_tool_says_what_the_gateway_says(
    name: str, authored: dict[str, Seen], at_the_gateway: dict[str, Seen]
) -> None:
    own, theirs = authored[name], at_the_gateway[name]
    assert [told(answer) for answer in own.answers] == [told(answer) for answer in theirs.answers]
    assert own.reached == theirs.reached
    assert own.records == theirs.records


@pytest.mark.parametrize("name", ASKED)
def test_a_failure_is_text_without_structured_content_and_data_stands_in_the_text_too(
    name: str, authored: dict[str, Seen]
) -> None:
    for answer in authored[name].answers:
        if "error" in answer.message:
            continue  # what is no JSON at all is no call either
        structured = answer.result.get("structuredContent")
        assert (structured is None) == answer.is_error
        if not answer.is_error:
            assert json.loads(answer.text) == structured


TYPED = [name for name, twin in ASKED.items() if has_model(twin)]


@cache
def model_for(name: str) -> type[Args]:
    return model_of(ASKED[name])


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("name", TYPED)
def test_a_tool_with_a_model_says_it_in_the_same_words(name: str, at_the_gateway: dict[str, Seen]) -> None:
    tools = Toolbox("up")

    async def handler(**_: Any) -> str:
        return '{"status": "ok", "data": "created"}'

    tools.add(read_tool(name, "A case.", args_model=model_for(name), handler=handler))
    for text, answer in zip(ASKED[name].calls, at_the_gateway[name].answers, strict=True):
        if "error" in answer.message:
            continue  # refused before anybody asks what the tool wants
        own = asyncio.run(tools.registry.dispatch(name, text))
        assert ("error", own.text) == told(answer) if own.is_error else not answer.is_error


def test_the_cases_that_are_not_asked_are_all_there() -> None:
    patterns = [pattern for patterns in APART.values() for pattern in patterns]
    unused = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in CASES)]
    assert unused == []
    can_be_written = [name for name in CASES if reason_apart(name) != WRITTEN]
    assert len(ASKED) > len(can_be_written) * 2 / 3
    assert len(TYPED) > 50


def apart(reason: str) -> list[Twin]:
    return [twin_of(case) for name, case in CASES.items() if reason_apart(name) == reason]


def answering(twin: Twin) -> ToolHandler:
    async def handler(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return f'{{"status":"ok","data":{twin.data}}}'

    return handler


@pytest.mark.parametrize("twin", apart(WRITTEN), ids=lambda twin: twin.tool)
def test_what_the_registry_is_said_to_refuse_is_refused(twin: Twin) -> None:
    with pytest.raises(ContractError):
        toolbox_of([twin], answering).build_server()


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("twin", apart(NUMBERS), ids=lambda twin: twin.tool)
def test_a_number_that_python_cannot_pass_on_is_refused_and_not_changed(twin: Twin) -> None:
    tools = toolbox_of([twin], answering)
    answer = asyncio.run(tools.dispatch(twin.tool, {}))
    assert isinstance(answer.outcome, Failed)
    assert answer.outcome.code == "output_violation"
