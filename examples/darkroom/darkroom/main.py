"""The command: a workspace, its sample pictures, and the tools over stdio or HTTP."""

import argparse
import sys
from pathlib import Path

from darkroom.rendering import Renderer
from darkroom.studio import open_studio
from darkroom.tools import build_tools

DEFAULT_WORKSPACE = Path(__file__).parents[3] / ".state" / "darkroom"


def main() -> None:
    options = _options()
    is_new = not (options.workspace / "inbox").exists()
    studio = open_studio(options.workspace, renderer=Renderer(seconds=options.render_timeout))
    if is_new:
        from darkroom.samples import write_samples  # loads NumPy, which the server needs only here

        write_samples(studio.workspace.inbox)
    tools = build_tools(studio)
    if options.http is None:
        tools.run()
        return
    import uvicorn

    print(f"darkroom: http://127.0.0.1:{options.http}/mcp", file=sys.stderr)
    uvicorn.run(tools.asgi(), host="127.0.0.1", port=options.http, log_level="warning")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="server.py", description="A darkroom as an MCP server.")
    parser.add_argument(
        "--workspace", type=Path, default=DEFAULT_WORKSPACE, metavar="DIR", help="where pictures and edits are kept"
    )
    parser.add_argument("--http", type=int, metavar="PORT", help="serve /mcp on this port instead of stdin and stdout")
    parser.add_argument(
        "--render-timeout", type=float, default=60.0, metavar="SECONDS", help="how long a picture may take"
    )
    return parser.parse_args()
