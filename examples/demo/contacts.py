"""A small address book as an MCP server over stdio, with the two faults that handfast is there to catch.

`create_contact` reads the fields it knows and ignores the rest, as many REST backends do: a call that wraps
its fields in `{"data": {...}}` succeeds and stores an empty row. `contact_stats` breaks its own output schema.
Standard library only: python3 contacts.py [FILE.db]
"""

import contextlib
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any  # JSON values: this is the outermost edge

Json = dict[str, Any]  # Any: whatever JSON the client sent

SERVER = {"name": "contacts", "title": "Contacts (demo)", "version": "1.0.0"}
HANDSHAKE_REVISIONS = ("2025-11-25", "2025-06-18")
STATELESS_REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_PROTOCOL_VERSION = -32022

FIELDS = {
    "email": {"type": "string", "description": "The address mail is sent to."},
    "first_name": {"type": "string"},
    "notes": {"type": "string", "description": "Anything worth remembering."},
}
CONTACT = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, **FIELDS},
    "required": ["id", "email", "first_name", "notes"],
}
TOOLS = [
    {
        "name": "create_contact",
        "title": "Create a contact",
        "description": "Store a new contact and return it with its id.",
        "inputSchema": {"type": "object", "properties": FIELDS},
        "outputSchema": {
            "type": "object",
            "properties": {"created": {"type": "boolean"}, "id": {"type": "integer"}},
            "required": ["created", "id"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False},
    },
    {
        "name": "list_contacts",
        "title": "List the contacts",
        "description": "Every contact, oldest first.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {
            "type": "object",
            "properties": {"contacts": {"type": "array", "items": CONTACT}},
            "required": ["contacts"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "contact_stats",
        "title": "Count the contacts",
        "description": "How many contacts there are, and how many of them have an email address.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {
            "type": "object",
            "properties": {"total": {"type": "integer"}, "with_email": {"type": "integer"}},
            "required": ["total", "with_email"],
        },
        "annotations": {"readOnlyHint": True},
    },
]


class Refused(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class AddressBook:
    """The contacts, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        columns = ", ".join(f"{name} TEXT NOT NULL DEFAULT ''" for name in FIELDS)
        self._db.execute(f"CREATE TABLE IF NOT EXISTS contacts (id INTEGER PRIMARY KEY, {columns})")

    def create_contact(self, arguments: Json) -> Json:
        # The fault of the story: what is not declared is dropped without a word, and an empty row is a success.
        known = [str(arguments.get(name, "")) for name in FIELDS]
        cursor = self._db.execute("INSERT INTO contacts (email, first_name, notes) VALUES (?, ?, ?)", known)
        return {"created": True, "id": cursor.lastrowid}

    def list_contacts(self, _arguments: Json) -> Json:
        rows = self._db.execute("SELECT id, email, first_name, notes FROM contacts ORDER BY id")
        return {"contacts": [dict(row) for row in rows]}

    def contact_stats(self, _arguments: Json) -> Json:
        total, with_email = self._db.execute("SELECT count(*), count(nullif(email, '')) FROM contacts").fetchone()
        # The other fault: `total` is declared an integer and sent as a string.
        return {"total": str(total), "with_email": with_email}


class ContactsServer:
    """Answers one message at a time, in whichever era of the protocol it is asked."""

    def __init__(self, book: AddressBook) -> None:
        self._handlers: dict[str, Callable[[Json], Json]] = {
            "create_contact": book.create_contact,
            "list_contacts": book.list_contacts,
            "contact_stats": book.contact_stats,
        }

    def answer(self, line: bytes) -> Json | None:
        """The reply to one line; None for a notification, which gets none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return failure(None, Refused(PARSE_ERROR, "This line is not JSON. Send one message per line."))
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return failure(None, Refused(INVALID_REQUEST, "This is no request. Send an object with a method."))
        if "id" not in message:
            return None
        request_id = message["id"]
        if not isinstance(request_id, str | int):
            return failure(None, Refused(INVALID_REQUEST, "The id is neither a string nor an integer. Send one."))
        try:
            result = self._result(message["method"], message.get("params"))
        except Refused as refused:
            return failure(request_id, refused)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _result(self, method: str, params: object) -> Json:
        given: Json = params if isinstance(params, dict) else {}
        if method == "initialize":
            return initialize(given)
        meta = given.get("_meta")
        if not isinstance(meta, dict) or f"{META}protocolVersion" not in meta:
            return self._handshake_result(method, given)
        require_stateless(meta)
        return stateless(method, self._stateless_result(method, given))

    def _handshake_result(self, method: str, params: Json) -> Json:
        if method == "ping":
            return {}
        if method == "server/discover":
            raise Refused(INVALID_PARAMS, f"params._meta lacks {META}protocolVersion. Send it with every request.")
        return self._tools_result(method, params)

    def _stateless_result(self, method: str, params: Json) -> Json:
        if method == "server/discover":
            return {"supportedVersions": [STATELESS_REVISION], "capabilities": {"tools": {}}}
        return self._tools_result(method, params)

    def _tools_result(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "tools/call":
            return self._call(params)
        raise Refused(METHOD_NOT_FOUND, "This method is not known here.")

    def _call(self, params: Json) -> Json:
        name, arguments = params.get("name"), params.get("arguments", {})
        handler = self._handlers.get(name) if isinstance(name, str) else None
        if handler is None or not isinstance(arguments, dict):
            raise Refused(INVALID_PARAMS, "No such tool, or arguments that are no object. Look at tools/list.")
        try:
            structured = handler(arguments)
        except (sqlite3.Error, ValueError, RecursionError) as error:
            # ValueError: text that UTF-8 cannot hold, such as half of an emoji. RecursionError: a bottomless value.
            text = f"The address book could not be used ({type(error).__name__}). Try again later."
            return {"content": [{"type": "text", "text": text}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(structured)}], "structuredContent": structured}


def initialize(params: Json) -> Json:
    """The handshake of the 2025 revisions: the client's own revision if it is known here, else our newest."""
    asked = params.get("protocolVersion")
    revision = asked if asked in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[0]
    return {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": SERVER}


def require_stateless(meta: Json) -> None:
    """What revision 2026-07-28 asks of every request. Raises: Refused."""
    revision = meta[f"{META}protocolVersion"]
    if isinstance(revision, str) and revision != STATELESS_REVISION:
        supported = {"supported": [STATELESS_REVISION], "requested": revision}
        raise Refused(UNSUPPORTED_PROTOCOL_VERSION, "This protocol revision is not supported here.", supported)
    if not isinstance(revision, str) or not isinstance(meta.get(f"{META}clientCapabilities"), dict):
        raise Refused(INVALID_PARAMS, "params._meta lacks protocolVersion or clientCapabilities. Send both.")


def stateless(method: str, result: Json) -> Json:
    """What revision 2026-07-28 adds to a result."""
    caching = {"ttlMs": 0, "cacheScope": "public"} if method in ("server/discover", "tools/list") else {}
    return {"resultType": "complete", **result, **caching, "_meta": {f"{META}serverInfo": SERVER}}


def failure(request_id: str | int | None, refused: Refused) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "error": refused.error}


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "handfast-demo-contacts.db"
    server = ContactsServer(AddressBook(path))
    for line in sys.stdin.buffer:
        if line.strip() and (answer := server.answer(line)) is not None:
            sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
