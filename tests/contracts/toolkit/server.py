"""The authored twins of the cases, served: `python -m tests.contracts.toolkit.server stdio|http TWINS JOURNAL`."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

from handfast.toolkit import ToolHandler
from tests.contracts.toolkit.twins import Twin, read_twins, toolbox_of


def main(way: str, twins: Path, journal: Path) -> None:
    def handler_of(twin: Twin) -> ToolHandler:
        async def handler(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
            with journal.open("a") as notes:
                notes.write(json.dumps([twin.tool, arguments]) + "\n")
            return f'{{"status":"ok","data":{twin.data}}}'

        return handler

    tools = toolbox_of(read_twins(twins), handler_of)
    if way == "stdio":
        tools.run()
        return
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # whoever connects from now on is answered
        uvicorn.Server(uvicorn.Config(tools.asgi(), log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
