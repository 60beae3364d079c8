"""The server of docs/toolkit.md, as it stands there: started, and driven by the official client."""

import asyncio
import os
import re
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from handfast.core.answers.codes import CORE_MEANINGS
from tests.demo import ROOT

PAGE = (ROOT / "docs" / "toolkit.md").read_text("utf-8")


def test_the_server_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    (source,) = re.findall(r"<!-- server -->\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "contacts.py").write_text(source, "utf-8")
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
