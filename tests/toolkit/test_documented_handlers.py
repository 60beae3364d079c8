"""The server of docs/handlers.md, as it stands there: started, and driven by the official client."""

import asyncio
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from handfast import toolkit
from handfast.toolkit import Toolbox
from tests.demo import ROOT

PAGE = (ROOT / "docs" / "handlers.md").read_text("utf-8")
(SOURCE,) = re.findall(r"<!-- server -->\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CONFIRMED = {"confirm": True, "reason": "done long ago"}


async def payload(client: Client, tool: str, arguments: dict[str, Any]) -> Any:  # Any: JSON
    result = await client.call_tool(tool, arguments)
    told: Any = result.structured_content
    assert result.is_error is (told["status"] == "error")
    return told


def test_the_server_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(SOURCE, "utf-8")
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path / "state"), "HANDFAST_ACTOR": "ada"}

    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "tasks.py")], env=env)
        async with Client(server) as client:
            for title in ("a", "b", "c"):
                assert (await payload(client, "add_task", {"title": title}))["data"]["title"] == title
            assert await payload(client, "list_tasks", {"offset": 1, "limit": 1}) == {
                "status": "ok",
                "data": [{"id": 2, "title": "b", "due": None}],
                "pagination": {"total": 3, "offset": 1, "limit": 1},
            }
            assert (await payload(client, "remove_task", {"id": 2, **CONFIRMED}))["status"] == "ok"
            refused = [
                await payload(client, "add_task", {"title": " "}),
                await payload(client, "list_tasks", {"limit": 501}),
                await payload(client, "remove_task", {"id": 2, **CONFIRMED}),
                await payload(client, "remove_task", {"id": 3, "confirm": True, "reason": "\u200b"}),
                await payload(client, "remind", {}),
                await payload(client, "share", {}),
            ]
            assert [(told["tool"], told["domain_code"], told["error_type"]) for told in refused] == [
                ("add_task", "invalid_argument", "ArgumentValidationError"),
                ("list_tasks", "invalid_argument", "ArgumentValidationError"),
                ("remove_task", "not_found", "NotFoundError"),
                ("remove_task", "guardrail_violated", "GuardrailViolationError"),
                ("remind", "not_supported", "NotSupportedError"),
                ("share", "not_supported", "NotSupportedError"),
            ]
            assert refused[0]["message"] == "Argument 'title' missing or not a non-blank string"

    asyncio.run(session())


def test_an_error_that_a_handler_raises_ends_as_one_that_it_returns(caplog: pytest.LogCaptureFixture) -> None:
    async def raises(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # Any: of every handler
        return toolkit.ok(toolkit.require_arg(arguments, "n", bool))

    async def returns(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # Any: as above
        try:
            return toolkit.ok(toolkit.require_arg(arguments, "n", bool))
        except toolkit.ArgumentValidationError as exc:
            toolkit.log_handler_argument_invalid("tool", exc)
            return toolkit.err(exc)

    told = []
    for handler in (raises, returns):
        schema = {"type": "object", "properties": {"n": {}}, "additionalProperties": False}
        tools = Toolbox("t", envelope="status")
        tools.add(toolkit.read_tool("tool", "Take a boolean.", input_schema=schema, handler=handler))
        told.append(asyncio.run(tools.dispatch("tool", {"n": 1})).payload)
        assert tools.registry.outcomes.of("tool") == {"validation_error": 1}
    assert told[0] == told[1]
    assert (told[0] or {})["message"] == "Argument 'n' missing or not a boolean"
    failed = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [vars(record)["event"] for record in failed] == [
        "mcp.server.invoke.failed",
        "mcp.handler.argument_invalid",
        "mcp.server.invoke.failed",
    ]


def test_every_function_of_the_page_is_the_toolkits() -> None:
    tables = re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
    named = {name for cell in tables for name in re.findall(r"`(\w+)\(", cell)}
    assert len(named) == 17
    assert [name for name in sorted(named) if name not in toolkit.__all__] == []


def test_the_example_of_a_boundary_runs() -> None:
    page = (ROOT / "docs" / "boundaries.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    told: dict[str, Any] = {}
    exec(compile(example, "boundaries.md", "exec"), told)
    assert (told["order"].sku, told["order"].count, told["numbers"]) == ("b-7", 1, [1, 2])
