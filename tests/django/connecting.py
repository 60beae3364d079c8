"""The official client, connected to a project's endpoint as an agent's would be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

Mode = Literal["legacy", "2026-07-28"]
MODES: Final[tuple[Mode, ...]] = ("legacy", "2026-07-28")


@asynccontextmanager
async def connected(url: str, mode: Mode, *, token: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client
