"""Whether an answer keeps the contract: every way in which one that came over the wire may break it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp.types import CallToolResult, ImageContent, TextContent

from handfast.toolkit.testing.answers import breach_of
from handfast.toolkit.testing.session import in_memory
from tests.toolkit.contacts import make_toolbox

Change = Callable[[CallToolResult], CallToolResult]


def answer(envelope: str, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    async def ask() -> CallToolResult:
        async with in_memory(make_toolbox(envelope)) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


def breach(envelope: str, tool: str, result: CallToolResult) -> str:
    registry = make_toolbox(envelope).registry
    return breach_of(result, registry.registered(tool), registry.codes, registry.envelope)


def structured(**changes: Any) -> Change:
    """Another structured content, and the text that goes with it."""

    def change(result: CallToolResult) -> CallToolResult:
        payload = {**(result.structured_content or {}), **changes}
        text = TextContent(type="text", text=json.dumps(payload))
        return result.model_copy(update={"structured_content": payload, "content": [text]})

    return change


def field(name: str, value: Any) -> Change:
    return lambda result: result.model_copy(update={name: value})


def error(**changes: Any) -> Change:
    def change(result: CallToolResult) -> CallToolResult:
        failure = (result.structured_content or {})["error"]
        return structured(error={**failure, **changes})(result)

    return change


COUNT: tuple[str, dict[str, Any]] = ("count_contacts", {})
MISSING: tuple[str, dict[str, Any]] = ("get_contact", {"id": 7})


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
@pytest.mark.parametrize("call", [COUNT, MISSING])
def test_what_the_toolkit_answers_keeps_the_contract(envelope: str, call: tuple[str, dict[str, Any]]) -> None:
    assert breach(envelope, call[0], answer(envelope, *call)) == ""


@pytest.mark.parametrize(
    ("envelope", "call", "change", "words"),
    [
        ("plain", COUNT, field("is_error", True), "the answer says isError: true, and its payload says the opposite"),
        ("result", MISSING, field("is_error", False), "the answer says isError: false, and its payload says"),
        ("plain", COUNT, field("structured_content", None), "the answer is not in the form 'plain'"),
        ("plain", COUNT, field("structured_content", [1]), "the answer is not in the form 'plain': The structured"),
        ("result", COUNT, field("structured_content", {"result": 0}), "the answer is not in the form 'result'"),
        ("status", COUNT, field("structured_content", None), "the answer is not in the form 'status'"),
        ("plain", COUNT, field("structured_content", {"result": 1}), "the text of the answer and its structured"),
        ("plain", COUNT, field("structured_content", {"result": False}), "the text of the answer and its structured"),
        ("plain", COUNT, field("content", []), "the text of the answer is not the JSON of its structured content"),
        (
            "plain",
            COUNT,
            field("content", [ImageContent(type="image", data="aGk=", mime_type="image/png")]),
            "the text of the answer is not the JSON of its structured content",
        ),
        ("plain", COUNT, structured(result="one"), "the answer does not meet the published output schema"),
        ("status", COUNT, structured(more=1), "the answer is not in the form 'status'"),
        ("plain", MISSING, field("meta", None), "the answer is not in the form 'plain': The failure carries no code."),
        ("result", MISSING, error(code="nobodys"), "failed with 'nobodys', which the server does not declare"),
        ("result", MISSING, error(code="internal_error"), "failed with internal_error"),
        ("result", MISSING, error(code="timeout", message="Late."), "failed with timeout: Late"),
        ("result", MISSING, error(code="cancelled", message="Gone."), "failed with cancelled: Gone"),
        ("result", MISSING, error(message=""), "failed with not_found and without a word on what happened"),
        ("result", MISSING, error(message="KeyError: 7"), "failed with not_found and shows internals in its text"),
        ("result", MISSING, error(message="See <Row object at 0x7f00>"), "failed with not_found and shows internals"),
        ("result", MISSING, error(message="id [type=missing, input_value=7]"), "failed with not_found and shows"),
        ("result", MISSING, error(details={"at": 'File "a.py", line 3'}), "failed with not_found and shows internals"),
    ],
)
def test_what_another_server_might_answer_is_told(
    envelope: str, call: tuple[str, dict[str, Any]], change: Change, words: str
) -> None:
    told = breach(envelope, call[0], change(answer(envelope, *call)))
    assert told.startswith(words)


@pytest.mark.parametrize("message", ["An error: try again.", "The Error (7) is known.", "NotFoundError", "error(3)"])
def test_words_about_errors_are_no_internals(message: str) -> None:
    assert breach("result", MISSING[0], error(message=message)(answer("result", *MISSING))) == ""
