"""What a client hands back with an answer: only what it was given, for the same caller, tool and arguments."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import InputRequiredResult

from handfast.toolkit import Actor, Toolbox
from tests.toolkit.asking import make_toolbox
from tests.toolkit.serve.test_asking import FOLDER, User, accept
from tests.toolkit.serve.test_serving import records, serving

REFUSED = [
    ("policy_decision", "blocked", "arguments.forged_state"),
    ("tool_call", "blocked", "arguments.forged_state"),
]


@asynccontextmanager
async def asking_client(tools: Toolbox, state: Path) -> AsyncIterator[Client]:
    app = tools.asgi(state=str(state))
    async with serving(app) as url, Client(url, mode="2026-07-28", elicitation_callback=User()) as client:
        yield client


async def ask(client: Client) -> tuple[str, str]:
    """The state that a question comes with, and the key to answer it by."""
    asked = await client.session.call_tool("delete_folder", FOLDER, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    assert asked.request_state is not None
    assert asked.input_requests is not None
    (key,) = asked.input_requests
    return asked.request_state, key


async def retry(client: Client, state: str | None, key: str, arguments: Any = None, tool: str = "delete_folder") -> Any:
    return await client.session.call_tool(
        tool,
        arguments or FOLDER,
        input_responses={key: accept(copies=1)},
        request_state=state,
        allow_input_required=True,
    )


Try = Callable[[Client, str, str], Awaitable[Any]]
TAMPERED: dict[str, Try] = {
    "changed": lambda client, state, key: retry(client, f"{state[:-2]}AA", key),
    "invented": lambda client, _state, key: retry(client, '{"asked": "x", "answers": {}}', key),
    "other arguments": lambda client, state, key: retry(client, state, key, {"name": "thesis"}),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_state_that_is_not_the_one_for_this_call_is_refused_and_on_record(how: str, tmp_path: Path) -> None:
    tools = make_toolbox()

    async def session() -> None:
        async with asking_client(tools, tmp_path) as client:
            state, key = await ask(client)
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await TAMPERED[how](client, state, key)

    asyncio.run(session())
    assert tools.app == []
    assert [(kind, status, rule) for kind, status, _, rule, _ in records(tmp_path)][1:] == REFUSED


def test_a_state_is_of_no_use_to_another_caller(tmp_path: Path) -> None:
    now: list[Actor] = []
    tools = make_toolbox(actor=lambda _context: now[-1])

    async def session() -> None:
        async with asking_client(tools, tmp_path) as client:
            now.append(Actor(id="ada"))
            state, key = await ask(client)
            now.append(Actor(id="eve"))
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await retry(client, state, key)
            now.append(Actor(id="ada"))
            assert (await retry(client, state, key)).structured_content == {"result": "deleted, 1 kept, 1 in all"}

    asyncio.run(session())


def test_an_answer_to_what_was_never_asked_counts_for_nothing(tmp_path: Path) -> None:
    async def session() -> None:
        async with asking_client(make_toolbox(), tmp_path) as client:
            _, key = await ask(client)
            assert isinstance(await retry(client, None, key), InputRequiredResult)

    asyncio.run(session())


def test_another_process_on_the_same_store_takes_the_answer(tmp_path: Path) -> None:
    async def session() -> Any:
        one, two = asking_client(make_toolbox(), tmp_path), asking_client(make_toolbox(), tmp_path)
        async with one as asking, two as answering:
            state, key = await ask(asking)
            return await retry(answering, state, key)

    assert asyncio.run(session()).structured_content == {"result": "deleted, 1 kept, 1 in all"}
