"""A whole session with a server that can do everything: each step, and how handfast records it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any  # Any: steps are JSON

Json = dict[str, Any]  # Any: as above
BIG = 1_200_000  # characters; over the mebibyte at which some clients stop reading an event
LONG = 1000  # seconds that nobody waits: the call is cancelled


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a session. `status`: how each of its tools/call requests ends; empty when it makes none."""

    name: str
    step: Json
    status: str = ""
    rounds: int = 1  # a modern call that asks for input is a request for each round

    @property
    def tool(self) -> str:
        return str(next(iter(self.step.values()))["name"])

    def for_endpoint(self, prefix: str) -> Json:
        """The step as it is sent where the server's names carry a prefix."""
        ((kind, what),) = self.step.items()
        if kind in ("call", "watch", "cancel", "prompt"):
            return {kind: {**what, "name": prefix + what["name"]}}
        if kind == "complete":
            return {kind: {**what, "prompt": prefix + what["prompt"]}}
        return self.step


def call(name: str, tool: str, *, status: str = "success", rounds: int = 1, **arguments: Any) -> Part:  # Any: JSON
    return Part(name, {"call": {"name": tool, "arguments": arguments}}, status, rounds)


def witness_session(tag: str, *, asks: bool, asks_in_results: bool) -> Sequence[Part]:
    """With the server of the conformance suite, which speaks both eras (witness_server.py).

    `asks_in_results`: it is spoken to in the form of 2026-07-28, whatever the client's own era is.
    """
    prompt, uri = "test_prompt_with_arguments", "test://static-text"
    return [
        Part("info", {"info": True}),
        Part("tools", {"pages": True}),
        call("result", "test_multiple_content_types"),
        Part("progress", {"watch": {"name": "count_to", "arguments": {"number": 3}}}, "success"),
        call("tool error", "test_error_handling", status="error"),
        call("unknown tool", "no_such_tool", status="blocked"),
        call("big result", "big_text", size=BIG),
        Part("cancel", {"cancel": {"name": "wait_until_cancelled", "arguments": {"tag": tag}}}, "cancelled"),
        call("after the cancelled one", "test_simple_text"),
        Part("resources", {"resources": True}),
        Part("read", {"read": uri}),
        Part("read nothing", {"read": "test://nothing"}),
        Part("prompts", {"prompts": True}),
        Part("prompt", {"prompt": {"name": prompt, "arguments": {"arg1": "a", "arg2": "b"}}}),
        Part("completion", {"complete": {"prompt": prompt, "argument": {"name": "arg1", "value": "a"}}}),
        Part("ping", {"ping": True}),
        *(_witness_questions(asks_in_results=asks_in_results) if asks else ()),
    ]


# What the tools that ask in results say in the end: not every client can also call them with nothing in between.
ASKED_IN_RESULTS = {
    "elicitation": "elicitation accept",
    "sampling": "Model said: An answer.",
    "questions in turn": "Ada likes Ada.",
}


def _witness_questions(*, asks_in_results: bool) -> Sequence[Part]:
    if asks_in_results:
        return [
            call("elicitation", "test_streaming_elicitation", rounds=2),
            call("sampling", "test_input_required_result_sampling", rounds=2),
            call("questions in turn", "test_input_required_result_multi_round", rounds=3),
        ]
    return [
        call("elicitation", "test_streaming_elicitation"),
        call("sampling", "test_sampling", prompt="Say something."),
        call("questions in turn", "test_elicitation", message="And your name?"),
    ]


def everything_session(number: int, *, asks_in_results: bool) -> Sequence[Part]:
    """With npm's server-everything, of the older era. The number is in the call to be cancelled.

    `asks_in_results`: the gateway turns its questions into results, so that a call is a request for each round.
    """
    rounds = 2 if asks_in_results else 1
    operation, prompt = "trigger-long-running-operation", "completable-prompt"
    slow = {"name": operation, "arguments": {"duration": LONG + number, "steps": (LONG + number) * 10}}
    department = {"department": "Sales", "name": "Eve"}
    return [
        Part("info", {"info": True}),
        Part("tools", {"pages": True}),
        call("result", "get-structured-content", location="Chicago"),
        Part("progress", {"watch": {"name": operation, "arguments": {"duration": 0.15, "steps": 3}}}, "success"),
        call("tool error", "get-resource-reference", status="error", resourceId=-1),
        call("unknown tool", "no-such-tool", status="blocked"),
        call("big result", "echo", message="0123456789abcdef" * (BIG // 16)),
        call("elicitation", "trigger-elicitation-request", rounds=rounds),
        call("sampling", "trigger-sampling-request", rounds=rounds, prompt="Say something."),
        Part("cancel", {"cancel": slow}, "cancelled"),
        call("after the cancelled one", "get-sum", a=1, b=2),
        Part("resources", {"resources": True}),
        Part("read", {"read": "demo://resource/static/document/features.md"}),
        Part("read nothing", {"read": "demo://nothing"}),
        Part("prompts", {"prompts": True}),
        Part("prompt", {"prompt": {"name": prompt, "arguments": department}}),
        Part("completion", {"complete": {"prompt": prompt, "argument": {"name": "department", "value": "S"}}}),
        Part("ping", {"ping": True}),
    ]


def expected_records(parts: Sequence[Part]) -> list[tuple[str, str]]:
    return [(part.tool, part.status) for part in parts if part.status for _ in range(part.rounds)]
