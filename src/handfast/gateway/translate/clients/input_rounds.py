"""Rounds of one request: repeated with what the server asked the client for, until the server has an answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from handfast.gateway.translate.clients.questions import CannotContinue, Question, read_questions
from handfast.wire.members import member, text_member
from handfast.wire.message import Message
from handfast.wire.methods import INTERACTIVE

_MOST_ROUNDS: Final = 10  # what the official clients allow
# A server that sends only its state wants to be asked again, a little later each time.
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.25

Repeat = Callable[[Mapping[str, bytes]], Awaitable[Message]]
Ask = Callable[[Mapping[str, Question]], Awaitable[bytes]]


async def settle(answer: Message, method: str, *, repeat: Repeat, ask: Ask) -> Message:
    """The final answer. `repeat` takes the params to add. Raises: CannotContinue, AmbiguousKeys, NotJson."""
    pause = _FIRST_PAUSE
    for rounds in range(_MOST_ROUNDS + 1):
        result = None if answer.has_error else answer.result()
        kind = text_member(result, "resultType") or "complete"
        if result is None or kind == "complete":
            return answer
        if kind != "input_required":
            raise CannotContinue("The server answered in a way that the client's revision of MCP does not know.")
        if method not in INTERACTIVE:
            raise CannotContinue(f"The server asked the client for something, which it may not do for {method}.")
        if rounds == _MOST_ROUNDS:
            break
        requests, state = member(result, "inputRequests"), member(result, "requestState")
        questions = read_questions(requests) if requests is not None else {}
        more = {} if state is None else {"requestState": state}
        if questions:
            more["inputResponses"] = await ask(questions)
            pause = _FIRST_PAUSE
        elif state is None:
            raise CannotContinue("The server wants more from the client, but does not say what.")
        else:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        answer = await repeat(more)
    raise CannotContinue(f"The server asked the client for something {_MOST_ROUNDS} times and still has no answer.")
