"""The server of docs/adapters.md, as it stands there: started, and driven by the official client."""

import asyncio
import os
import re
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from tests.demo import ROOT
from tests.toolkit.adapters.stage import records, said

PAGE = (ROOT / "docs" / "adapters.md").read_text("utf-8")


def test_the_server_of_the_page_is_under_the_contract(tmp_path: Path) -> None:
    (source,) = re.findall(r"<!-- server -->\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "contacts.py").write_text(source, "utf-8")
    env = {**os.environ, "HANDFAST_STATE": str(tmp_path / "state")}

    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "contacts.py")], env=env)
        async with Client(server) as client:
            assert await said(client, "create_contact", {"email": "ada@example.com"}) == ("ok", "1")
            how, text = await said(client, "create_contact", {"email": "ada@example.com", "nickname": "a"})
            assert (how, text.splitlines()[-1]) == ("error", 'Declared fields: ["email", "first_name"].')

    asyncio.run(session())
    assert [record[:4] for record in records(tmp_path / "state")] == [
        ("tool_call", "success", "create_contact", ""),
        ("policy_decision", "blocked", "create_contact", "arguments.unknown"),
        ("tool_call", "blocked", "create_contact", "arguments.unknown"),
    ]
