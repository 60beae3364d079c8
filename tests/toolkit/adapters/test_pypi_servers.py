"""Two servers from PyPI as they are, under the contract in one line: their good calls stay, their bad ones are refused.

mcp-alchemy is written with the official SDK's MCPServer, docx-mcp with FastMCP. Both are started by their own main
functions; `serve.py` puts the one line before.
"""

import asyncio
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.contracts.rig import HANDFAST
from tests.parts import Parts
from tests.toolkit.adapters.stage import MODES, Mode, Said, command, environment, over_http, over_stdio, records, said

Json = dict[str, Any]  # Any: arguments and results as JSON

GOOD: dict[str, list[tuple[str, Json]]] = {
    "alchemy": [
        ("all_table_names", {}),
        ("filter_table_names", {"q": "pp"}),
        ("schema_definitions", {"table_names": ["apples"]}),
        ("execute_query", {"query": "select name from apples where id = :id", "params": {"id": 1}}),
        ("execute_query", {"query": "select nonsense"}),
    ],
    "docx": [
        ("create_document", {"file_path": "report.docx"}),
        ("add_heading", {"text": "Apples", "level": 1}),
        ("add_paragraph", {"text": "Äpfel\u2028und 苹果", "bold": True}),
        ("add_table", {"rows": 2, "cols": 2}),
        ("save_document", {}),
        ("get_document_info", {}),
    ],
}
# The tool, its arguments as they should be, and what is declared.
TOOLS: dict[str, tuple[str, Json, str]] = {
    "alchemy": ("execute_query", {"query": "insert into apples (name) values ('worm')"}, '"query", "params"'),
    "docx": ("create_document", {"file_path": "worm.docx"}, '"file_path"'),
}


def bad_calls(server: str) -> list[tuple[str, Json, str]]:
    """What breaks the contract, and what the agent reads: the texts that the gateway's cases hold."""
    tool, right, declared = TOOLS[server]
    (field,) = right
    line = f"Declared fields: [{declared}]."
    unfit = f"The arguments do not fit what the tool declares: {{}}. Correct them and call again.\n{line}"
    wrapped = (
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        f'Unwrap \'data\': send "{field}" directly, not inside "data".\n{line}'
    )
    meant = (
        "None of the fields in 'data' is declared: "
        'send it as a declared field that takes an object ("params"), or leave it out.'
    )
    removed = "Remove 'data': none of its fields is declared."
    beside = "\n".join([*wrapped.splitlines()[:2], meant if "params" in declared else removed, line])
    return [
        (tool, {"data": right}, wrapped),
        (tool, {**right, "data": {"notes": "n"}}, beside),
        (tool, {**right, "bogus": 1}, f"Argument 'bogus' is not a declared field. Remove it and call again.\n{line}"),
        (tool, {field: 3}, unfit.format(f"{field}: must be a string, not an integer")),
        (tool, {}, unfit.format(f"must have the property '{field}' (a string)")),
    ]


def stock(folder: Path) -> dict[str, str]:
    """Whatever the servers need to be there."""
    connection = sqlite3.connect(folder / "stock.db")
    connection.execute("create table apples (id integer primary key, name text)")
    connection.execute("insert into apples (name) values ('Boskoop')")
    connection.commit()
    connection.close()
    return {"DB_URL": f"sqlite:///{folder}/stock.db"}


def worms(folder: Path) -> int:
    """What the bad calls would have left behind."""
    connection = sqlite3.connect(folder / "stock.db")
    (rows,) = connection.execute("select count(*) from apples where name = 'worm'").fetchone()
    connection.close()
    return int(rows) + len(list(folder.glob("worm*")))


async def good_session(client: Client, server: str) -> list[Json]:
    results = [await client.call_tool(tool, arguments) for tool, arguments in GOOD[server]]
    listed = await client.list_tools()
    return [each.model_dump(mode="json", by_alias=True) for each in (*results, listed)]


async def bad_session(client: Client, server: str) -> list[Said]:
    return [await said(client, tool, arguments) for tool, arguments, _text in bad_calls(server)]


def on_record(server: str, actor: str) -> list[tuple[str, str, str, str, str]]:
    rules = ["arguments.nested_wrapper"] * 2 + ["arguments.unknown"] + ["arguments.schema"] * 2
    refused = [*((TOOLS[server][0], rule) for rule in rules), ("no_such_tool", "contract.unlisted")]
    return [("tool_call", "success", tool, "", actor) for tool, _arguments in GOOD[server]] + [
        (kind, "blocked", tool, rule, actor) for tool, rule in refused for kind in ("policy_decision", "tool_call")
    ]


async def held_session(client: Client, server: str) -> list[Json]:
    good = await good_session(client, server)
    assert await bad_session(client, server) == [("error", text) for _tool, _arguments, text in bad_calls(server)]
    missing = ("-32602", "There is no tool 'no_such_tool'. Call tools/list for the tools there are.")
    assert await said(client, "no_such_tool", {}) == missing
    return good


def in_new_folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.fixture(scope="module", params=["alchemy", "docx"])
def server(request: pytest.FixtureRequest, parts: Parts) -> str:
    return str(request.param)


@pytest.mark.parametrize("mode", MODES)
def test_over_stdio_good_calls_are_answered_as_before_and_bad_ones_are_refused(
    server: str, mode: Mode, tmp_path: Path
) -> None:
    async def session(how: Any, folder: Path, run: Any) -> Any:
        async with over_stdio(server, how, folder, mode, **stock(folder)) as client:
            return await run(client, server)

    bare_folder, held_folder = in_new_folder(tmp_path / "bare"), in_new_folder(tmp_path / "held")
    bare = asyncio.run(session("bare", bare_folder, good_session))
    held = asyncio.run(session("contract", held_folder, held_session))
    assert without_paths(held, held_folder) == without_paths(bare, bare_folder)
    assert worms(held_folder) == 0
    assert records(held_folder) == on_record(server, "ada")
    assert is_whole(held_folder)


@pytest.mark.parametrize("mode", MODES)
def test_over_http_too(server: str, mode: Mode, tmp_path: Path) -> None:
    async def session(url: str) -> list[Json]:
        async with Client(url, mode=mode) as client:
            return await held_session(client, server)

    with over_http(server, "contract", tmp_path, **stock(tmp_path)) as url:
        asyncio.run(session(url))
    assert worms(tmp_path) == 0
    assert records(tmp_path) == on_record(server, "")


def test_the_texts_are_those_of_the_gateway_in_front_of_the_bare_server(server: str, tmp_path: Path) -> None:
    @asynccontextmanager
    async def wrapped() -> AsyncIterator[Client]:
        settings = tmp_path / "handfast.json"
        settings.write_text('{"mcpServers": {}, "input_validation": {"unknown_arguments": "reject_all"}}')
        flags = ["--input", "strict", "--output", "strict", "--config", str(settings)]
        gateway = [*HANDFAST[1:], "wrap", *flags, "--", *command(server, "bare")]
        env = environment(tmp_path, **stock(tmp_path))
        async with Client(StdioServerParameters(command=HANDFAST[0], args=gateway, env=env, cwd=tmp_path)) as client:
            yield client

    async def session() -> list[Said]:
        async with wrapped() as client:
            return await bad_session(client, server)

    assert asyncio.run(session()) == [("error", text) for _tool, _arguments, text in bad_calls(server)]
    assert worms(tmp_path) == 0


def without_paths(results: list[Json], folder: Path) -> str:
    return repr(results).replace(str(folder), "…")


def is_whole(folder: Path) -> bool:
    """What `handfast activity verify` says about the chain."""
    checked = subprocess.run([*HANDFAST, "activity", "verify", "--state", folder], capture_output=True, check=False)
    return checked.returncode == 0
