"""The gateway's contract cases, put to a server of the SDK under the contract: the same texts, the same records."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams

from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.toolkit import under_contract
from tests.contracts import test_argument_policy, test_nested_wrapper, test_result_guards, test_results
from tests.contracts.cases import Case, call_message, run_cases
from tests.stubs.run import tool
from tests.toolkit.adapters.wire import wired
from tests.toolkit.records import Kept

Json = Any  # Any: decoded JSON
Policy = tuple[str, str, str, bool]
Heard = list[tuple[str, bool]]  # of each call: the text, and whether it is an error
Noted = list[tuple[str, str, str]]  # of each record: its type, its status and its rule

MODULES = (test_nested_wrapper, test_argument_policy, test_results, test_result_guards)

# What the SDK makes something else of before anybody can judge it.
NOT_SEEN = {
    "any_null": "structured content that is null is left out",
    "final_": "a resultType that is no text is refused",
    "beyond_a_double": "1e400 is Infinity to its parser, and is refused in other words",
    "deep_bomb": "it gives no result of more than 255 levels",
    "levels_": "members that the protocol does not have are left out",
    "number_": "1e400 is Infinity to its parser, and leaves as null",
}


def cases() -> list[Case]:
    found = {id(case): case for module in MODULES for case in _cases_in(vars(module).values())}
    return [case for case in found.values() if policy_of(case) is not None and _is_seen(case)]


def _cases_in(values: Any) -> Iterator[Case]:
    for value in values:
        if isinstance(value, Case):
            yield value
        elif isinstance(value, dict):
            yield from _cases_in(value.values())
        elif isinstance(value, list | tuple):
            yield from _cases_in(value)


def _is_seen(case: Case) -> bool:
    """Whether it gets past the SDK's own reader, which also takes the last of equal keys, as then the tool does."""
    is_listable = (case.input_schema or {"type": "object"}).get("type") == "object"  # or it refuses the whole list
    result = str(case.answer.get("result"))
    texts = [text or b"{}" for text in case.calls] + [result.encode()]
    is_result = '"content":[' in result and case.is_listed
    return is_listable and is_result and not case.tool.startswith(tuple(NOT_SEEN)) and all(map(_is_plain, texts))


def _is_plain(text: bytes) -> bool:
    try:
        decode_judged(text)
        json.loads(text)
    except (Ambiguous, ValueError, RecursionError):
        return False
    return True


def policy_of(case: Case) -> Policy | None:
    """None where the case is about something that under_contract does not let one choose."""
    given = {f"{block}.{key}": value for block, keys in case.policy.items() for key, value in keys.items()}
    policy = (
        given.pop("input_validation.mode", "warn"),
        given.pop("output_validation.mode", "warn"),
        given.pop("input_validation.unknown_arguments", "reject_objects"),
        given.pop("input_validation.lenient_scalars", False),
    )
    return None if given else policy


def scripted(of: list[Case]) -> Server[Any]:
    """A low-level server that lists the tools of these cases and answers as they say."""
    tools = [tool(case.tool, case.input_schema, case.output_schema) for case in of]
    listed = {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    answers = {case.tool: {"resultType": "complete", **json.loads(str(case.answer["result"]))} for case in of}

    async def list_tools(_context: Any, _params: Any) -> Json:
        return listed

    async def call_tool(_context: Any, params: CallToolRequestParams) -> Json:
        return answers[params.name]

    return Server("up", on_list_tools=list_tools, on_call_tool=call_tool)


async def put_to(server: Server[Any], of: list[Case]) -> dict[str, Heard]:
    """Send the exact text of every call."""
    heard: dict[str, Heard] = defaultdict(list)
    async with wired(server) as wire:
        calls = [(case, text) for case in of for text in case.calls]
        for number, (case, text) in enumerate(calls):
            answer = await wire.exchange(call_message(number, case.tool, text, is_modern=True))
            heard[case.tool].append(_heard(answer))
    return heard


def _heard(answer: Json) -> tuple[str, bool]:
    if "error" in answer:
        return answer["error"]["message"], True
    result = answer["result"]
    return "".join(block.get("text", "") for block in result["content"][:1]), result.get("isError") is True


def through_the_adapter(of: list[Case]) -> tuple[dict[str, Heard], dict[str, Noted]]:
    grouped: dict[Policy, list[Case]] = defaultdict(list)
    for case in of:
        policy = policy_of(case)
        assert policy is not None
        grouped[policy].append(case)
    heard: dict[str, Heard] = {}
    noted: dict[str, Noted] = defaultdict(list)
    for (taken, given, unknown, is_lenient), members in grouped.items():
        kept = Kept()
        server = under_contract(
            scripted(members),
            input=taken,
            output=given,
            unknown_arguments=unknown,
            lenient_scalars=is_lenient,
            recorder=kept,
        )
        heard |= asyncio.run(put_to(server, members))
        for record in kept.records:
            noted[record.tool].append((record.type.value, record.status.value, record.rule))
    return heard, noted


def through_the_gateway(of: list[Case], folder: Path) -> tuple[dict[str, Heard], dict[str, Noted]]:
    seen = run_cases(of, "wrap", folder, is_modern=True)
    heard = {case.tool: [_heard(sent.answer.message) for sent in seen[case].sent] for case in of}
    noted = {case.tool: [(each["type"], each["status"], each["rule"]) for each in seen[case].records] for case in of}
    return heard, noted


@pytest.mark.requirement("D2")
@pytest.mark.requirement("D4")
@pytest.mark.requirement("D5")
@pytest.mark.requirement("D14")
def test_every_case_is_answered_and_recorded_as_by_the_gateway(tmp_path: Path) -> None:
    of = cases()
    assert len(of) > 100
    here, there = through_the_adapter(of), through_the_gateway(of, tmp_path)
    assert _differences(here[0], there[0]) == {}
    assert _differences(here[1], there[1]) == {}


def _differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (here.get(name), there[name]) for name in there if here.get(name) != there[name]}
