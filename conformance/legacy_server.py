"""The suite's server as one of 2025: no server/discover, no modern requests, questions in the middle of calls."""

from typing import Any

from mcp.server.lowlevel.server import NotificationOptions  # type: ignore[import-not-found]  # installed in .parts only
from mcp.server.runner import serve_loop  # type: ignore[import-not-found]  # installed in .parts only
from mcp_everything_server.server import mcp  # type: ignore[import-not-found]  # installed in .parts only
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # type: ignore[import-not-found]  # installed in .parts only

from conformance.era_launch import Asgi, launch
from conformance.legacy_questions import ask_in_the_middle_of_calls

_VERSION = b"mcp-protocol-version"


class LegacyOnly:
    """Hides the header that makes the SDK modern, so that it answers as it did before: 400, no session id."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # Any: what ASGI passes on
        if scope["type"] == "http":
            scope = scope | {"headers": [pair for pair in scope["headers"] if not self._is_modern(*pair)]}
        await self._app(scope, receive, send)

    @staticmethod
    def _is_modern(name: bytes, value: bytes) -> bool:
        return name == _VERSION and value.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS


async def _serve_streams(read: Any, write: Any, state: Any) -> None:  # Any: the SDK's own types
    await serve_loop(mcp._lowlevel_server, read, write, lifespan_state=state)


def _announce_list_changes() -> None:
    """Declared at 2026-07-28 by itself; at 2025 the SDK wants it said for each connection."""
    server = mcp._lowlevel_server
    plain = server.create_initialization_options
    changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    server.create_initialization_options = lambda: plain(changes)


if __name__ == "__main__":
    ask_in_the_middle_of_calls(mcp)
    _announce_list_changes()
    launch(LegacyOnly, _serve_streams)
