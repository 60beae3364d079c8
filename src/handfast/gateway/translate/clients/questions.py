"""Questions of a server in the middle of a request, put to a legacy client as requests of our own."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Final

import msgspec

from handfast.wire.codes import INVALID_REQUEST, UPSTREAM_FAILED
from handfast.wire.members import member, text_member
from handfast.wire.message import AmbiguousKeys, Members, Message, read_level
from handfast.wire.methods import CAPABILITY_ASKED
from handfast.wire.replies import notification
from handfast.wire.scan import NotJson, scan_object
from handfast.wire.splice import put

_MOST = 100  # questions at once; no user would read more, and each is held until it is answered
_CANCELLED: Final = b'{"action":"cancel"}'
_ELICITATION: Final = "elicitation/create"


class CannotContinue(Exception):
    """The request cannot be completed; the client gets this error."""

    def __init__(self, text: str, *, code: int = UPSTREAM_FAILED) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Question:
    method: str
    params: bytes | None


def read_questions(requests: bytes) -> dict[str, Question]:
    """The members of an answer's inputRequests. Raises: CannotContinue."""
    found: dict[str, Question] = {}
    try:
        members = scan_object(requests)
        for asked in members:
            # The server chooses these keys, so they may look like any of the protocol's own.
            question = read_level(requests[asked.value_start : asked.value_end])
            method = text_member(question, "method")
            if method is None:
                raise CannotContinue("The server asked the client for something without saying what.")
            asked.key.encode()  # a lone surrogate could not be sent back
            found[asked.key] = Question(method, member(question, "params"))
    except (AmbiguousKeys, NotJson, UnicodeEncodeError):
        raise CannotContinue("What the server asked the client for could not be read.") from None
    if len(found) != len(members):
        raise CannotContinue("The server asked the client for two things under one name.")
    if len(found) > _MOST:
        raise CannotContinue(f"The server asked the client for more than {_MOST} things at once.")
    return found


class Questions:
    """The questions of one client that wait for their answers."""

    def __init__(self, capabilities: bytes, *, seconds: float | None) -> None:
        self._capabilities = _read_capabilities(capabilities)
        self._seconds = seconds
        self._prefix = f"handfast-{token_hex(8)}-"  # unlike any id that a server or a client makes
        self._numbers = count(1)
        self._waiting: dict[str, tuple[Question, asyncio.Future[bytes]]] = {}

    def take(self, message: Message) -> bool:
        """Takes an answer of the client's; False where no open question has its id."""
        found = self._waiting.pop(message.id, None) if isinstance(message.id, str) else None
        if found is None:
            return False
        question, answered = found
        if answered.done():
            return False
        result = _result_of(message)
        if result is not None:
            answered.set_result(result)
        elif question.method == _ELICITATION:
            answered.set_result(_CANCELLED)
        else:
            text = f"The server asked the client for {question.method} first, and the client answered with an error."
            answered.set_exception(CannotContinue(text, code=INVALID_REQUEST))
        return True

    def fail_all(self, text: str) -> None:
        """Fails all open questions: the client will not answer them."""
        for _question, answered in self._waiting.values():
            if not answered.done():
                answered.set_exception(CannotContinue(text))

    async def ask(self, questions: Mapping[str, Question], send: Callable[[bytes], None]) -> bytes:
        """Asks all of them at once; the answers, in the form of inputResponses. Raises: CannotContinue."""
        for question in questions.values():
            self._require_declared(question)
        asked: dict[str, tuple[str, asyncio.Future[bytes]]] = {}
        try:
            for key, question in questions.items():
                own_id = f"{self._prefix}{next(self._numbers)}"
                answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
                self._waiting[own_id] = question, answered
                asked[key] = own_id, answered
                send(_render(own_id, question))
            futures = [answered for _id, answered in asked.values()]
            await asyncio.wait(futures, timeout=self._seconds, return_when=asyncio.FIRST_EXCEPTION)
            self._require_answers(futures)
            return msgspec.json.encode({key: msgspec.Raw(answered.result()) for key, (_id, answered) in asked.items()})
        finally:
            for own_id, answered in asked.values():
                self._withdraw(own_id, answered, send)

    def _require_answers(self, futures: list["asyncio.Future[bytes]"]) -> None:
        problems = [future.exception() for future in futures if future.done()]
        for problem in problems:
            if problem is not None:
                raise problem
        if len(problems) < len(futures):
            raise CannotContinue(f"The client did not answer what the server asked for within {self._seconds:g} s.")

    def _withdraw(self, own_id: str, answered: "asyncio.Future[bytes]", send: Callable[[bytes], None]) -> None:
        """Cancels a question at the client, unless it was answered."""
        if self._waiting.pop(own_id, None) is not None and not answered.done():
            reason = "The request that this was asked for is over."
            send(notification("notifications/cancelled", {"requestId": own_id, "reason": reason}))
        if not answered.done():
            answered.cancel()

    def _require_declared(self, question: Question) -> None:
        """Raises: CannotContinue."""
        need = CAPABILITY_ASKED.get(question.method)
        declared = None if need is None else self._capabilities.get(need)
        missing = _missing(question, declared) if need is not None and declared is not None else need
        if need is None:
            raise CannotContinue(
                f"The server asked the client for {question.method}, which no client of its revision has."
            )
        if missing is not None:
            text = f"The server needs {missing} from the client, which did not declare it. Use a client that has it."
            raise CannotContinue(text, code=INVALID_REQUEST)


def _missing(question: Question, declared: Members) -> str | None:
    """The part of a declared capability that the question needs and the client did not name."""
    try:
        params = read_level(question.params or b"{}")
    except (AmbiguousKeys, NotJson):
        raise CannotContinue("What the server asked the client for could not be read.") from None
    if question.method == _ELICITATION:
        if text_member(params, "mode") == "url":
            return None if "url" in declared else "elicitation.url"
        return "elicitation.form" if "url" in declared and "form" not in declared else None
    if question.method == "sampling/createMessage" and member(params, "tools") is not None:
        return None if "tools" in declared else "sampling.tools"
    return None


def _render(own_id: str, question: Question) -> bytes:
    params = question.params
    if question.method == _ELICITATION and params is not None:
        params = _with_elicitation_id(params, own_id)
    message: dict[str, object] = {"jsonrpc": "2.0", "id": own_id, "method": question.method}
    if params is not None:
        message["params"] = msgspec.Raw(params)
    return msgspec.json.encode(message)


def _with_elicitation_id(params: bytes, own_id: str) -> bytes:
    """Adds the id that 2025-11-25 requires with a URL and 2026-07-28 no longer has."""
    members = read_level(params)
    if text_member(members, "mode") != "url" or "elicitationId" in members:
        return params
    return put(params, {("elicitationId",): msgspec.json.encode(own_id)})


def _result_of(message: Message) -> bytes | None:
    """The result in the client's own bytes; None for an error, and for a result that is not an object."""
    if message.has_error:
        return None
    result = bytes(read_level(message.raw)["result"])
    return result if result.startswith(b"{") else None


def _read_capabilities(capabilities: bytes) -> dict[str, Members]:
    try:
        found = read_level(capabilities)
        return {name: read_level(bytes(value)) for name, value in found.items() if bytes(value).startswith(b"{")}
    except (AmbiguousKeys, NotJson):
        return {}
