"""Questions that a tool asks the user in mid-call. With each answer the tool runs again from its beginning."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import BaseModel

from handfast.core.answers.errors import ErrorCode, ToolError, error_invalid_input
from handfast.toolkit.running.arguments_model import Misshapen, parse_arguments

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Reply = Mapping[str, Any]  # Any: JSON; an ElicitResult as it came


@dataclass(frozen=True)
class UserQuestion:
    """The same text for the same fields at the same place of a call is the same question, in every run of the tool."""

    place: int
    message: str
    model: type[BaseModel]

    @cached_property
    def schema(self) -> dict[str, Any]:  # Any: JSON Schema
        """Raises: TypeError, for a field that no client can show."""
        from mcp.server.elicitation import (
            render_elicitation_schema,  # few tools ask, and only what serves needs the SDK
        )

        schema = render_elicitation_schema(self.model)
        return {key: schema[key] for key in ("type", "properties", "required") if key in schema}

    @property
    def key(self) -> str:
        text = json.dumps([self.message, self.schema], sort_keys=True)
        return f"{self.place}-{sha256(text.encode()).hexdigest()[:16]}"


class QuestionPending(BaseException):
    """Ends a run of the tool: it has no answer yet. No Exception, so that `except Exception` in a tool lets it pass."""

    def __init__(self, question: UserQuestion) -> None:
        super().__init__(question.message)
        self.question = question


class CallQuestions:
    """Those of one call, with the answers so far. This one has no client to ask: a call within the process."""

    def __init__(self) -> None:
        self.answers: dict[str, Reply] = {}
        self.count = 0  # asked in this run
        self.has_failed = False  # the client gave an error, or nothing that is an answer

    def can_ask(self) -> bool:
        return False

    async def put(self, question: UserQuestion) -> None:
        """Have it answered now. Raises: QuestionPending, where the answer comes with another request."""
        raise QuestionPending(question)

    def wire_form(self, question: UserQuestion) -> dict[str, Any]:  # Any: JSON
        """The result that asks it, in the revisions where questions are results."""
        raise NotImplementedError

    def ask(self, message: str, model: type[M]) -> M | None:
        """Raises: QuestionPending; ToolError, where nobody can be asked or the answer does not fit."""
        self.count += 1
        if self.has_failed:
            raise ToolError(
                ErrorCode.NOT_SUPPORTED,
                "The tool has to ask the user a question, and the client answered it with an error. "
                "Use a client that shows questions, or tell the user.",
            )
        if not self.can_ask():
            raise ToolError(
                ErrorCode.NOT_SUPPORTED,
                "The tool has to ask the user a question, and this client passes none on. "
                "Use a client that declares the capability elicitation.",
            )
        question = UserQuestion(self.count, message, model)
        reply = self.answers.get(question.key)
        if reply is None:
            raise QuestionPending(question)
        if reply.get("action") != "accept":
            return None
        try:
            read = parse_arguments(json.dumps(reply.get("content") or {}).encode(), model)
        except Misshapen as problem:
            raise error_invalid_input(
                f"The answer to the tool's question does not fit: {problem}. Call again."
            ) from None
        assert isinstance(read, model)  # what a model reads is one of it
        return read


async def run_with_answers(questions: CallQuestions, run: Callable[[], Awaitable[T]]) -> T:
    """Raises: QuestionPending, where the answer comes with another request."""
    while True:
        questions.count = 0
        try:
            return await run()
        except QuestionPending as pending:
            await questions.put(pending.question)
