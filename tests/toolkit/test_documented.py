"""The servers of docs/toolkit.md and of the README, as they stand there: started, and driven by the official client."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from handfast.core.answers.codes import CORE_MEANINGS
from tests.demo import HANDFAST, ROOT

README = (ROOT / "README.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "toolkit.md").read_text("utf-8")


def save_server(page: str, folder: Path) -> None:
    (source,) = re.findall(r"<!-- server -->\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (folder / "contacts.py").write_text(source, "utf-8")


def test_the_server_of_the_readme_runs_as_it_stands_there(tmp_path: Path) -> None:
    save_server(README, tmp_path)
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path / "state")}

    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=["contacts.py"], cwd=tmp_path, env=env)
        async with Client(server) as client:
            made = await client.call_tool("create_contact", {"email": "ada@example.com"})
            assert made.structured_content == {"id": 1, "email": "ada@example.com", "first_name": ""}
            assert (await client.call_tool("create_contact", {"data": {"email": "a"}})).is_error

    asyncio.run(session())
    (command,) = re.findall(r"`handfast (lint --toolbox \S+)`", README)
    judged = subprocess.run([HANDFAST, *command.split()], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert judged.returncode == 0


def test_the_server_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    save_server(PAGE, tmp_path)
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path / "state")}

    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "contacts.py")], env=env)
        async with Client(server) as client:
            made = await client.call_tool("create_contact", {"email": "ada@example.com"})
            assert made.structured_content == {"id": 1, "email": "ada@example.com", "first_name": ""}
            assert (await client.call_tool("create_contact", {"data": {"email": "a"}})).is_error
            missing = await client.call_tool("get_contact", {"id": 2})
            assert (missing.meta or {})["handfast/code"] == "not_found"
            unnamed = await client.call_tool("delete_contact", {"id": 1, "confirm": True, "reason": "asked to"})
            assert (unnamed.meta or {})["handfast/details"] == {"violation": "missing_actor"}

    asyncio.run(session())


def test_the_table_of_codes_is_that_of_the_product() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| `(\w+)` \| (yes|no) \|$", PAGE, re.MULTILINE)
    told = {code: (domain, hope == "yes") for codes, domain, hope in rows for code in re.findall(r"\w+", codes)}
    assert told == {str(code): (each.domain_code, each.is_recoverable) for code, each in CORE_MEANINGS.items()}
