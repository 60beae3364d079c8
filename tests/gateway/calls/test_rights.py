"""Lists without what a caller may not use, byte for byte otherwise; requests that need a right."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.access.identity import Identity
from handfast.core.access.scopes import parse_scopes
from handfast.gateway.calls.rights import deny_request, hide_items
from handfast.wire.message import Message, read_message

READER = Identity(subject="alice", scopes=parse_scopes("git:read"))
LOOK = b'{"name" : "look", "annotations":{"readOnlyHint":true}, "x": 1.50}'
WIPE = b'{"name":"wipe"}'
NAMELESS = b'{"annotations":{"readOnlyHint":true}}'


def answered(items: bytes, key: bytes = b"tools", more: bytes = b"") -> Message:
    return read_message(b'{"jsonrpc":"2.0","id":1, "result":{"%b": [%b]%b}}' % (key, items, more))


def shown(message: Message, method: str = "tools/list", identity: Identity = READER) -> tuple[bytes, int]:
    return hide_items("git", method, message.result() or {}, message.raw, identity)


def test_a_list_that_is_all_allowed_passes_as_it_is() -> None:
    message = answered(LOOK)
    assert shown(message) == (message.raw, 0)
    assert shown(message)[0] is message.raw


@pytest.mark.parametrize(("items", "hidden"), [([WIPE, LOOK], 1), ([LOOK, WIPE, WIPE], 2), ([LOOK, NAMELESS], 1)])
def test_what_is_shown_is_as_the_server_wrote_it(items: list[bytes], hidden: int) -> None:
    raw, count = shown(answered(b",".join(items), more=b',"nextCursor":"n","cacheScope":"public","_meta":{"a":1}'))
    assert count == hidden
    assert b"[" + LOOK + b"]" in raw
    result = json.loads(raw)["result"]
    assert result["_meta"] == {"a": 1, "handfast/hidden": hidden}
    assert (result["cacheScope"], result["nextCursor"]) == ("private", "n")
    assert b"wipe" not in raw


def test_a_list_that_is_hidden_whole_says_so() -> None:
    raw, hidden = shown(answered(b'{"name":"p"}', b"prompts"), "prompts/list", Identity(subject="a"))
    assert (json.loads(raw)["result"], hidden) == ({"prompts": [], "_meta": {"handfast/hidden": 1}}, 1)


def test_an_answer_without_a_list_passes() -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert shown(message) == (message.raw, 0)


@given(st.lists(st.sampled_from([LOOK, WIPE, NAMELESS]), max_size=20))
def test_nothing_is_lost_but_what_is_hidden(items: list[bytes]) -> None:
    raw, hidden = shown(answered(b",".join(items)))
    assert len(json.loads(raw)["result"]["tools"]) + hidden == len(items)
    assert hidden == len(items) - items.count(LOOK)


def asks(method: str, params: bytes = b"{}", *, has_id: bool = True) -> Message:
    head = b'"id":1,' if has_id else b""
    return read_message(b'{"jsonrpc":"2.0",%b"method":"%b","params":%b}' % (head, method.encode(), params))


WRITER = Identity(subject="bob", scopes=parse_scopes("git:write git/look"))
STRANGER = Identity(subject="eve", scopes=parse_scopes("other"))
URIS = b'{"notifications":{"resourceSubscriptions":["mem://r"]}}'


@pytest.mark.parametrize(
    ("message", "needs_reading"),
    [
        (asks("ping"), False),
        (asks("tools/list"), False),
        (asks("tasks/get"), False),
        (asks("notifications/odd", has_id=False), False),
        (asks("subscriptions/listen", b'{"notifications":{"toolsListChanged":true}}'), False),
        (asks("subscriptions/listen", URIS), True),
        (asks("prompts/get"), True),
        (asks("resources/read"), True),
        (asks("resources/subscribe"), True),
        (asks("completion/complete"), True),
        (asks("custom/anything"), True),
    ],
    ids=lambda value: value.method if isinstance(value, Message) else "",
)
def test_what_reads_of_a_server_needs_a_scope_to_read_all_of_it(message: Message, *, needs_reading: bool) -> None:
    assert deny_request("git", message, None) is None
    assert deny_request("git", message, READER) is None
    assert (deny_request("git", message, WRITER) is not None) is needs_reading
    denied = deny_request("git", message, STRANGER)
    assert denied is not None
    assert denied.scope == "git"
