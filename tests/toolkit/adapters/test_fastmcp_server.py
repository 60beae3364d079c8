"""FastMCP servers under the contract: versions, searching, mounting, sessions; played where FastMCP is."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.parts import PYTHON, Parts
from tests.toolkit.adapters.stage import environment

WRAPPED = "Argument 'data' is not a declared field and its value is a nested object."
BLOCKED = (
    "error: The result of '{}' was blocked: the structured content does not match the declared output schema: score: "
    "must be a number, not a string. The tool did run; do not repeat the call unless that is safe. Report this to the "
    "operator, who finds it under `handfast activity list --status blocked`."
)


def undeclared(name: str, lacking: str) -> str:
    return f"Argument '{name}' is not a declared field. Remove it and call again. Also required: \"{lacking}\"."


def nowhere(tool: str) -> str:
    return f"-32602: There is no tool '{tool}'. Call tools/list for the tools there are."


def refused(tool: str, rule: str) -> list[list[str]]:
    return [[kind, "blocked", tool, rule] for kind in ("policy_decision", "tool_call")]


@pytest.fixture(scope="module")
def scenes(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("scenes")
    command = [str(PYTHON), "-m", "tests.toolkit.adapters.fastmcp_scenes"]
    played = subprocess.run(command, env=environment(folder), cwd=folder, capture_output=True, timeout=110, check=False)
    assert played.returncode == 0, played.stderr.decode()[-3000:]
    return dict(json.loads(line) for line in played.stdout.splitlines())


def test_a_server_is_asked_for_its_list_once_and_again_for_a_tool_that_came_later(scenes: dict[str, Any]) -> None:
    assert scenes["lists"] == [1, undeclared("m", "n"), 2]


def test_a_call_is_judged_by_the_version_of_the_tool_that_it_means(scenes: dict[str, Any]) -> None:
    assert scenes["versions"] == [
        "ok: 2",
        f"error: {undeclared('old', 'new')}",
        "ok: 1",
        f"error: {undeclared('new', 'old')}",
        nowhere("add"),
    ]


def test_a_tool_that_is_found_by_searching_is_held_to_its_word_though_it_is_not_listed(scenes: dict[str, Any]) -> None:
    assert scenes["unlisted"] == [
        ["search_tools", "call_tool"],
        [f"error: {WRAPPED}", 'ok: {"id":1,"email":"a"}', nowhere("nope")],
        [
            *refused("create_contact", "arguments.nested_wrapper"),
            ["tool_call", "success", "create_contact", ""],
            *refused("nope", "contract.unlisted"),
        ],
    ]


def test_a_tool_that_an_app_calls_by_its_address_is_held_to_its_word(scenes: dict[str, Any]) -> None:
    assert scenes["addressed"] == ["ok: 1", f"error: {undeclared('m', 'n')}"]


def test_mounting_takes_nothing_away_whichever_server_is_under_the_contract(scenes: dict[str, Any]) -> None:
    assert scenes["mounted"] == [
        [f"error: {WRAPPED}", BLOCKED.format("rate"), f"error: {WRAPPED}", BLOCKED.format("in_rate")],
        [*refused("create_contact", "arguments.nested_wrapper"), *refused("rate", "result.schema")],
        [*refused("in_create_contact", "arguments.nested_wrapper"), *refused("in_rate", "result.schema")],
    ]


def test_a_call_in_the_servers_own_process_takes_the_same_path(scenes: dict[str, Any]) -> None:
    assert scenes["in_process"] == [
        True,
        WRAPPED,
        {"id": 1, "email": "a"},
        [
            *refused("create_contact", "arguments.nested_wrapper"),
            ["tool_call", "success", "create_contact", ""],
        ],
    ]


def test_what_an_authors_middleware_makes_of_a_result_is_judged(scenes: dict[str, Any]) -> None:
    assert scenes["spoilt"] == ["error", "error"]


@pytest.mark.requirement("D19")
def test_a_question_is_no_result_and_passes(scenes: dict[str, Any]) -> None:
    assert scenes["unfinished"] == ["InputRequiredToolResult", [["tool_call", "success", "rate", ""]], True]


def test_a_server_that_says_its_tools_have_changed_is_asked_again(scenes: dict[str, Any]) -> None:
    assert scenes["changed"] == [[BLOCKED.format("rate"), "ok: hidden", nowhere("rate")], 1]


def test_what_passes_is_what_fastmcp_sends_without_the_contract(scenes: dict[str, Any]) -> None:
    assert scenes["untouched"] == [True, {"score": 1.5, "none": None}]


def test_a_tool_that_raises_answers_as_fastmcp_has_it_and_is_on_record(scenes: dict[str, Any]) -> None:
    assert scenes["failing"] == ["error: Error calling tool 'fall': over", [["tool_call", "error", "fall", ""]]]


def test_once_is_enough(scenes: dict[str, Any]) -> None:
    assert scenes["twice"].startswith("This server is under the contract already.")
