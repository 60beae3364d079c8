"""Questions of a server's, put to a legacy client."""

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.translate.clients.questions import CannotContinue, Question, Questions, read_questions
from handfast.wire.message import read_message
from tests.contracts.rig import Json
from tests.gateway.translate.clients.scripted import ELICITATION, ROOTS, SAMPLING

ALL: Json = {"elicitation": {}, "sampling": {}, "roots": {}}
URL = {"method": "elicitation/create", "params": {"mode": "url", "message": "Look", "url": "https://x.example"}}


def ask(
    asked: Json, answers: Callable[[Json], Json], *, capabilities: Json = ALL, seconds: float | None = 10
) -> tuple[Json, list[Json]]:
    """What comes of them, and what the client was sent; `answers` gives the members of an answer, or None."""
    sent: list[Json] = []

    async def run() -> Json:
        questions = Questions(json.dumps(capabilities).encode(), seconds=seconds)

        def send(raw: bytes) -> None:
            message = json.loads(raw)
            sent.append(message)
            found = answers(message) if "id" in message else None
            if found is not None:
                answer = read_message(json.dumps({"jsonrpc": "2.0", "id": message["id"], **found}).encode())
                asyncio.get_running_loop().call_soon(lambda: taken.append(questions.take(answer)))

        taken: list[bool] = []
        try:
            return json.loads(await questions.ask(read_questions(json.dumps(asked).encode()), send))
        except CannotContinue as problem:
            return problem.code, problem.text

    return asyncio.run(run()), sent


def test_all_are_put_at_once_and_each_answer_finds_its_key() -> None:
    results = {
        "elicitation/create": {"action": "accept", "content": {"n": 3}},
        "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hm"}},
        "roots/list": {"roots": []},
    }
    asked = {"Name": ELICITATION, "id": SAMPLING, "r": ROOTS}
    found, sent = ask(asked, lambda message: {"result": results[message["method"]]})
    assert found == {
        "Name": results["elicitation/create"],
        "id": results["sampling/createMessage"],
        "r": results["roots/list"],
    }
    assert [{**message, "id": ""} for message in sent] == [
        {"jsonrpc": "2.0", "id": "", **ELICITATION},
        {"jsonrpc": "2.0", "id": "", **SAMPLING},
        {"jsonrpc": "2.0", "id": "", **ROOTS},
    ]
    assert len({message["id"] for message in sent}) == 3


def test_an_answer_travels_byte_for_byte() -> None:
    result = b'{"action":"accept", "content":{"n":1.0,"\\u0041":9007199254740993}}'

    async def run() -> bytes:
        questions = Questions(b'{"elicitation":{}}', seconds=10)

        def send(raw: bytes) -> None:
            own_id = json.dumps(json.loads(raw)["id"]).encode()
            answer = read_message(b'{"jsonrpc":"2.0","result":' + result + b',"id":' + own_id + b"}")
            asyncio.get_running_loop().call_soon(questions.take, answer)

        return await questions.ask({"q": Question("elicitation/create", b"{}")}, send)

    assert asyncio.run(run()) == b'{"q":' + result + b"}"


@pytest.mark.parametrize("answer", [{"error": {"code": -1, "message": "no"}}, {"result": "text"}])
def test_a_form_that_is_answered_with_an_error_was_cancelled(answer: Json) -> None:
    found, _sent = ask({"q": ELICITATION}, lambda _message: answer)
    assert found == {"q": {"action": "cancel"}}


@pytest.mark.parametrize("asked", [SAMPLING, ROOTS])
def test_other_questions_that_are_answered_with_an_error_end_the_call_and_the_rest_is_withdrawn(asked: Json) -> None:
    def answers(message: Json) -> Json:
        return {"error": {"code": -1, "message": "secret"}} if message["method"] == asked["method"] else None

    (code, text), (form, _other, withdrawn) = ask({"form": ELICITATION, "other": asked}, answers, seconds=None)
    method = asked["method"]
    assert (code, text) == (
        -32600,
        f"The server asked the client for {method} first, and the client answered with an error.",
    )
    assert (withdrawn["method"], withdrawn["params"]["requestId"]) == ("notifications/cancelled", form["id"])


@pytest.mark.parametrize(
    ("asked", "capabilities", "missing"),
    [
        (ELICITATION, {"roots": {}}, "elicitation"),
        (SAMPLING, {}, "sampling"),
        (ROOTS, {"roots": None}, "roots"),
        (URL, {"elicitation": {}}, "elicitation.url"),
        (ELICITATION, {"elicitation": {"url": {}}}, "elicitation.form"),
        ({**SAMPLING, "params": {**SAMPLING["params"], "tools": []}}, {"sampling": {}}, "sampling.tools"),  # type: ignore[dict-item]  # JSON
    ],
)
def test_nothing_is_asked_that_the_client_did_not_declare(asked: Json, capabilities: Json, missing: str) -> None:
    found, sent = ask(
        {"ok": ROOTS, "q": asked} if "roots" in capabilities else {"q": asked},
        lambda _m: None,
        capabilities=capabilities,
    )
    text = f"The server needs {missing} from the client, which did not declare it. Use a client that has it."
    assert (found, sent) == ((-32600, text), [])


def test_a_url_has_an_id_for_clients_that_want_one() -> None:
    capabilities: Json = {"elicitation": {"url": {}}}
    _found, (asked,) = ask({"q": URL}, lambda _message: {"result": {"action": "accept"}}, capabilities=capabilities)
    assert asked["params"] == {**URL["params"], "elicitationId": asked["id"]}  # type: ignore[dict-item]  # JSON


def test_nobody_waits_for_ever() -> None:
    found, (asked, withdrawn) = ask({"q": ROOTS}, lambda _message: None, seconds=0.01)
    assert found == (-31001, "The client did not answer what the server asked for within 0.01 s.")
    assert withdrawn["params"]["requestId"] == asked["id"]


@pytest.mark.parametrize(
    "asked",
    [
        b"[]",
        b'{"a":1}',
        b'{"a":{}}',
        b'{"a":{"method":1}}',
        b'{"a":{"method":"roots/list"},"a":{"method":"roots/list"}}',
    ],
)
def test_what_cannot_be_read_as_questions_ends_the_call(asked: bytes) -> None:
    with pytest.raises(CannotContinue):
        read_questions(asked)


def test_a_hundred_questions_at_once_are_enough() -> None:
    assert len(read_questions(json.dumps({str(number): ROOTS for number in range(100)}).encode())) == 100
    with pytest.raises(CannotContinue):
        read_questions(json.dumps({str(number): ROOTS for number in range(101)}).encode())


def test_what_no_client_can_answer_is_not_asked() -> None:
    found, sent = ask({"q": {"method": "shell/run"}}, lambda _message: None)
    assert (found[0], sent) == (-31001, [])


@given(st.dictionaries(st.text(max_size=20), st.sampled_from([ELICITATION, SAMPLING, ROOTS]), max_size=5))
def test_the_server_chooses_the_names_of_its_questions(asked: Json) -> None:
    found = read_questions(json.dumps(asked).encode())
    assert {key: question.method for key, question in found.items()} == {
        key: question["method"] for key, question in asked.items()
    }


def test_an_answer_to_nothing_is_not_taken() -> None:
    async def run() -> bool:
        questions = Questions(b"{}", seconds=1)
        return any(
            questions.take(read_message(b'{"jsonrpc":"2.0","id":%s,"result":{}}' % own_id)) for own_id in (b"1", b'"x"')
        )

    assert asyncio.run(run()) is False
