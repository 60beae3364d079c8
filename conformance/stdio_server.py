"""The suite's server over stdio: the same object that it serves over HTTP. Runs in .parts, not in .venv."""

from mcp_everything_server.server import mcp  # type: ignore[import-not-found]  # installed in .parts only

mcp.run(transport="stdio")
