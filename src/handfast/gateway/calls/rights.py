"""The rights of a caller at one server: which requests go on, and which items of a list it is shown."""

from collections.abc import Sequence
from typing import Final

import msgspec

from handfast.core.access.identity import Identity
from handfast.core.access.permissions import Denied, deny_entry, deny_reading, may_call, may_enter, may_read
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.contract import kind_of_tool
from handfast.core.call.exchange import RecordType, Status
from handfast.gateway.calls.server_side import ServerSide
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import Members, Message
from handfast.wire.methods import LIST_KINDS, REQUESTS, ListKind
from handfast.wire.scan import scan_items
from handfast.wire.splice import Path, put

META_HIDDEN: Final = "handfast/hidden"

_READING: Final = {
    "prompts/get": "the prompts",
    "completion/complete": "the prompts and resources",
    "resources/read": "the resources",
    "resources/subscribe": "the resources",
}
_LISTEN: Final = "subscriptions/listen"


def deny_request(server: str, message: Message, identity: Identity | None) -> Denied | None:
    """Why a request that is not a call must not go on; None if it may. Calls need the kind of their tool as well."""
    if identity is None:
        return None
    if not may_enter(identity, server):
        return deny_entry(server)
    if not message.is_request:
        return None
    method = message.method or ""
    what = _READING.get(method)
    if what is None and method not in REQUESTS:
        what = "methods outside the protocol"  # what they do, nobody here can tell
    if what is None and method == _LISTEN and _names_resources(message):
        what = "the resources"
    return None if what is None or may_read(identity, server) else deny_reading(server, what)


def _names_resources(message: Message) -> bool:
    wanted = level_of(member(message.params(), "notifications"))
    return "resourceSubscriptions" in wanted


def hide_items(server: str, method: str, result: Members, raw: bytes, identity: Identity) -> tuple[bytes, int]:
    """A list's answer without what the caller may not use, and how many items that are. Raises: NotJson."""
    kind = LIST_KINDS[method]
    listed = result.get(kind.key)
    if listed is None:
        return raw, 0
    items, _ = scan_items(bytes(listed))
    shown = [item for item in items if _may_use(server, kind, item, identity)]
    hidden = len(items) - len(shown)
    return (raw, 0) if not hidden else (_shortened(raw, kind, shown, hidden, result), hidden)


def note_denied(server: ServerSide, method: str, caller: Caller, denied: Denied) -> None:
    server.journal.note(
        RecordType.POLICY_DECISION,
        Status.BLOCKED,
        server=server.name,
        rule=rules.ACCESS_SCOPE,
        reason=denied.text,
        details={"method": method},
        caller=caller,
        is_refusal=True,
    )


def note_hidden(server: ServerSide, method: str, caller: Caller, hidden: int) -> None:
    server.journal.note(
        RecordType.POLICY_DECISION,
        Status.SUCCESS,
        server=server.name,
        rule=rules.ACCESS_HIDDEN,
        reason=f"{hidden} items of {method} were not shown, because the token has no scope for them.",
        details={"method": method, "hidden": hidden},
        caller=caller,
        is_refusal=True,
    )


def _may_use(server: str, kind: ListKind, item: bytes, identity: Identity) -> bool:
    """Whether a caller may use an item of a list, as a server wrote it."""
    if kind.key != "tools":
        return may_read(identity, server)
    tool = level_of(item)
    name = text_member(tool, "name")
    # What has no name cannot be called either.
    return name is not None and may_call(identity, server, name, kind_of_tool(member(tool, "annotations")))


def _shortened(raw: bytes, kind: ListKind, shown: Sequence[bytes], hidden: int, result: Members) -> bytes:
    """Says how many are hidden, so that nobody takes the rest for everything, and no cache gives it to others."""
    values: dict[Path, bytes] = {
        ("result", kind.key): b"[" + b",".join(shown) + b"]",
        ("result", "_meta", META_HIDDEN): msgspec.json.encode(hidden),
    }
    if "cacheScope" in result:
        values["result", "cacheScope"] = b'"private"'
    return put(raw, values)
