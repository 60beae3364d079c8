"""Tools that ask the user: real clients of both eras, over both transports."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ElicitRequestFormParams, ElicitResult, ErrorData

from handfast.toolkit.running.questions import UserQuestion
from handfast.toolkit.testing.session import in_memory
from tests.toolkit.asking import Keep, make_toolbox
from tests.toolkit.serve.test_serving import MODES, Mode, records, serving, text_of

Reply = ElicitResult | ErrorData
FOLDER = {"name": "drafts"}


class User:
    """Answers questions in turn, and keeps what was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.asked: list[str] = []
        self._replies = list(replies)

    async def __call__(self, context: Any, params: Any) -> Reply:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return self._replies.pop(0)


def accept(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


@asynccontextmanager
async def over_stdio(state: Path, mode: Mode, user: User | None) -> AsyncIterator[Client]:
    env = {**os.environ, "HANDFAST_STATE": str(state)}
    server = StdioServerParameters(command=sys.executable, args=["-m", "tests.toolkit.asking"], env=env)
    async with Client(server, mode=mode, elicitation_callback=user) as client:
        yield client


@asynccontextmanager
async def over_http(state: Path, mode: Mode, user: User | None) -> AsyncIterator[Client]:
    app = make_toolbox().asgi(state=str(state))
    async with serving(app) as url, Client(url, mode=mode, elicitation_callback=user) as client:
        yield client


@asynccontextmanager
async def within(_state: Path, mode: Mode, user: User | None) -> AsyncIterator[Client]:
    async with in_memory(make_toolbox(), mode=mode, answers=user) as client:
        yield client


Way = Callable[[Path, Mode, User | None], Any]
EVERYWHERE = pytest.mark.parametrize("way", [over_stdio, over_http, within])
IN_BOTH_ERAS = pytest.mark.parametrize("mode", MODES)


def call(way: Way, mode: Mode, state: Path, user: User | None, tool: str, arguments: Any = None) -> Any:
    async def session() -> Any:
        async with way(state, mode, user) as client:
            return await client.call_tool(tool, arguments or {})

    return asyncio.run(session())


@EVERYWHERE
@IN_BOTH_ERAS
def test_a_tool_asks_once_and_goes_on_with_the_answer(way: Way, mode: Mode, tmp_path: Path) -> None:
    user = User(accept(copies=2))
    done = call(way, mode, tmp_path, user, "delete_folder", FOLDER)
    assert done.structured_content == {"result": "deleted, 2 kept, 1 in all"}
    assert user.asked == ["How many copies of drafts are kept?"]


@EVERYWHERE
@IN_BOTH_ERAS
def test_answers_of_several_questions_come_together(way: Way, mode: Mode, tmp_path: Path) -> None:
    user = User(accept(copies=0), accept())
    assert call(way, mode, tmp_path, user, "delete_folder", FOLDER).structured_content == {
        "result": "deleted, 0 kept, 1 in all"
    }
    assert len(user.asked) == 2


@EVERYWHERE
@IN_BOTH_ERAS
def test_a_function_that_blocks_asks_the_same_question_twice_and_gets_two_answers(
    way: Way, mode: Mode, tmp_path: Path
) -> None:
    user = User(accept(copies=2), accept(copies=3))
    assert call(way, mode, tmp_path, user, "ask_in_thread").structured_content == {"result": 5}


@IN_BOTH_ERAS
@pytest.mark.parametrize("reply", [ElicitResult(action="decline"), ElicitResult(action="cancel")])
def test_a_user_who_declines_is_no_answer(mode: Mode, reply: Reply, tmp_path: Path) -> None:
    done = call(within, mode, tmp_path, User(reply), "delete_folder", FOLDER)
    assert text_of(done).endswith("The user did not want it. Leave the folder as it is. [conflict]")


@IN_BOTH_ERAS
@pytest.mark.parametrize("content", [{"copies": "many"}, {}, {"copies": 1, "more": 2}])
def test_an_answer_that_does_not_fit_is_an_error_that_says_so(
    mode: Mode, content: dict[str, Any], tmp_path: Path
) -> None:
    done = call(within, mode, tmp_path, User(accept(**content)), "delete_folder", FOLDER)
    assert text_of(done).startswith("The answer to the tool's question does not fit: ")
    assert text_of(done).endswith("[invalid_input]")


@EVERYWHERE
@IN_BOTH_ERAS
def test_where_the_client_cannot_be_asked_the_agent_reads_why(way: Way, mode: Mode, tmp_path: Path) -> None:
    done = call(way, mode, tmp_path, None, "delete_folder", FOLDER)
    assert text_of(done) == (
        "The tool has to ask the user a question, and this client passes none on. Use a client that declares the "
        "capability elicitation. [not_supported]"
    )
    assert call(way, mode, tmp_path, None, "ask_if_possible").structured_content == {"result": "not_supported"}


def test_a_legacy_client_that_answers_with_an_error_cannot_be_asked(tmp_path: Path) -> None:
    user = User(ErrorData(code=-32600, message="no"))
    assert call(within, "legacy", tmp_path, user, "ask_if_possible").structured_content == {"result": "not_supported"}
    user = User(ErrorData(code=-32600, message="no"))
    assert text_of(call(within, "legacy", tmp_path, user, "delete_folder", FOLDER)) == (
        "The tool has to ask the user a question, and the client answered it with an error. Use a client that shows "
        "questions, or tell the user. [not_supported]"
    )


def test_a_call_within_the_process_has_nobody_to_ask() -> None:
    answer = asyncio.run(make_toolbox().dispatch("delete_folder", FOLDER))
    assert (answer.meta or {})["handfast/code"] == "not_supported"


def test_a_question_of_the_sdk_that_is_returned_is_refused_with_what_to_do(tmp_path: Path) -> None:
    told = text_of(call(within, "2026-07-28", tmp_path, None, "ask_by_the_sdk"))
    assert "the handler returned a question of the SDK; ask it with call.ask() instead" in told


@pytest.mark.parametrize("way", [over_stdio, over_http])
@IN_BOTH_ERAS
def test_a_question_is_on_record(way: Way, mode: Mode, tmp_path: Path) -> None:
    call(way, mode, tmp_path, User(accept(copies=2)), "delete_folder", FOLDER)
    # In 2026 the question is the answer of one request, and its answer comes with another.
    due = ("tool_call", "success", "delete_folder", "", "")
    assert records(tmp_path) == [due] * (2 if mode == "2026-07-28" else 1)


def test_a_question_at_another_place_or_in_other_words_is_another_one() -> None:
    asked = [UserQuestion(1, "Why?", Keep), UserQuestion(2, "Why?", Keep), UserQuestion(1, "How?", Keep)]
    assert len({question.key for question in asked}) == 3
    assert asked[0].key == UserQuestion(1, "Why?", Keep).key
