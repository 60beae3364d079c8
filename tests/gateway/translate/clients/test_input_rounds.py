"""A request that is repeated until the server has an answer."""

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from handfast.gateway.translate.clients.input_rounds import settle
from handfast.gateway.translate.clients.questions import CannotContinue, Question
from handfast.wire.message import Message, read_message
from tests.contracts.rig import Json

ASK = b'{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},"requestState":"\\u0041\\/"}'
STATE = b'{"resultType":"input_required","requestState":"s"}'
DONE = b'{"resultType":"complete","x":1}'


def run(*results: bytes, method: str = "tools/call") -> tuple[Json, list[Mapping[str, bytes]]]:
    """What is answered in the end, and what the request was repeated with."""
    repeated: list[Mapping[str, bytes]] = []
    answers: Sequence[Message] = [read_message(b'{"jsonrpc":"2.0","id":1,"result":%s}' % result) for result in results]
    waiting = iter(answers)

    async def repeat(more: Mapping[str, bytes]) -> Message:
        repeated.append(more)
        return next(waiting)

    async def ask(questions: Mapping[str, Question]) -> bytes:
        return json.dumps({key: question.method for key, question in questions.items()}).encode()

    async def all_rounds() -> Json:
        try:
            return json.loads((await settle(next(waiting), method, repeat=repeat, ask=ask)).raw)["result"]
        except CannotContinue as problem:
            return problem.text

    return asyncio.run(all_rounds()), repeated


def test_an_answer_is_an_answer() -> None:
    assert run(DONE) == (json.loads(DONE), [])
    assert run(b"{}") == ({}, [])  # absent means complete


def test_answers_and_state_go_back_byte_for_byte() -> None:
    answered = {"requestState": b'"\\u0041\\/"', "inputResponses": b'{"q": "roots/list"}'}
    assert run(ASK, ASK, DONE) == (json.loads(DONE), [answered, answered])


def test_only_the_last_state_goes_back() -> None:
    no_state = b'{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}}}'
    _found, repeated = run(STATE, no_state, DONE)
    assert repeated == [{"requestState": b'"s"'}, {"inputResponses": b'{"q": "roots/list"}'}]


def test_after_ten_rounds_it_is_enough() -> None:
    assert run(*[STATE] * 10, DONE)[0] == json.loads(DONE)
    found, repeated = run(*[STATE] * 11)
    assert (found, len(repeated)) == (
        "The server asked the client for something 10 times and still has no answer.",
        10,
    )


@pytest.mark.requirement("E1")
@pytest.mark.parametrize("method", ["tools/list", "completion/complete", "resources/list"])
def test_only_three_methods_may_ask(method: str) -> None:
    found, repeated = run(ASK, method=method)
    assert (found, repeated) == (f"The server asked the client for something, which it may not do for {method}.", [])


def test_a_server_that_wants_something_says_what() -> None:
    assert run(b'{"resultType":"input_required"}')[0] == "The server wants more from the client, but does not say what."


def test_a_kind_of_answer_that_legacy_clients_do_not_know_ends_the_call() -> None:
    found, _repeated = run(b'{"resultType":"task","task":{}}')
    assert found == "The server answered in a way that the client's revision of MCP does not know."
