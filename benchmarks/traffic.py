"""What is sent and answered in every run: the tools, their results, and a request's bytes. Standard library only."""

import json
from functools import cache
from typing import Any, Final  # Any: decoded JSON

REVISION: Final = "2026-07-28"
# Rows of about 125 bytes each: structured results of 1 KB, 20 KB and 1 MB.
ROWS: Final = {"orders": 8, "orders_open": 8, "orders_20k": 165, "orders_1m": 8_200}
JUDGED, OPEN, MEDIUM, LARGE = ROWS

ARGUMENTS: Final = {"query": "orders of last week", "limit": 8, "newest_first": True}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_INPUT: Final = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "maxLength": 200},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100_000},
        "newest_first": {"type": "boolean"},
    },
    "required": ["query"],
    "additionalProperties": False,
}
_ROW: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "customer": {"type": "string"},
        "email": {"type": "string"},
        "total": {"type": "number", "minimum": 0},
        "paid": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "customer", "email", "total", "paid", "tags"],
    "additionalProperties": False,
}
_OUTPUT: Final = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": _ROW}, "count": {"type": "integer"}},
    "required": ["rows", "count"],
}


def tools() -> list[dict[str, Any]]:
    """The tools as tools/list shows them; the open one declares as little as the protocol allows."""
    return [_open() if name == OPEN else _judged(name) for name in ROWS]


def _open() -> dict[str, Any]:
    return {"name": OPEN, "description": "Orders, with no schema to speak of.", "inputSchema": {"type": "object"}}


def _judged(name: str) -> dict[str, Any]:
    return {"name": name, "description": "Orders.", "inputSchema": _INPUT, "outputSchema": _OUTPUT}


def structured(tool: str) -> dict[str, Any]:
    count = ROWS[tool]
    return {"rows": [_row(number) for number in range(count)], "count": count}


def _row(number: int) -> dict[str, Any]:
    return {
        "id": 40_000 + number,
        "customer": f"Customer {number:05d}",
        "email": f"customer{number:05d}@example.com",
        "total": 19.95 + number,
        "paid": number % 3 != 0,
        "tags": ["priority", "eu"],
    }


def summary(tool: str) -> str:
    """The result's text: short, so that the structured part is what is measured."""
    return f"{ROWS[tool]} orders."


def call(tool: str, number: int) -> bytes:
    """A tools/call as a 2026-07-28 client sends it."""
    params = {"name": tool, "arguments": ARGUMENTS, "_meta": _META}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def headers(tool: str) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
        (b"user-agent", b"bench/1"),
        (b"mcp-protocol-version", REVISION.encode()),
        (b"mcp-method", b"tools/call"),
        (b"mcp-name", tool.encode()),
    ]


@cache  # asked on every call, inside what is timed
def least_bytes(tool: str) -> int:
    """An answer shorter than this is no answer: an error must not count as a fast call."""
    return len(json.dumps(structured(tool), separators=(",", ":")))
