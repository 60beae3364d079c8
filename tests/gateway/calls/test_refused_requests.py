"""Requests that are refused for what they are: which of them leave a record."""

import pytest

from handfast.gateway.calls.refused_requests import note_refused
from handfast.wire.message import read_message
from handfast.wire.replies import error_reply


@pytest.mark.requirement("F9")
@pytest.mark.parametrize(
    ("method", "recorded"),
    [("tools/call", [("request.refused", "A request was refused: No.")]), ("server/discover", []), ("ping", [])],
)
def test_a_refused_call_is_on_record_and_a_probe_is_not(method: str, recorded: list[tuple[str, str]]) -> None:
    found: list[tuple[str, str]] = []
    message = read_message(b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % method.encode())
    reply = error_reply(1, -32600, "No.")
    assert note_refused(lambda rule, reason: found.append((rule, reason)), message, reply) is reply
    assert found == recorded
