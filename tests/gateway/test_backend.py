"""Asking a backend on handfast's own account, and reading single members of an answer."""

import asyncio
import json

import pytest

from handfast.gateway.backend import Origin, ask, ignore, member, text_member
from handfast.wire.message import Message, read_level


class _Echo:
    """Answers with what it was asked."""

    async def request(self, message: Message, origin: Origin) -> bytes:
        result = {"asked": json.loads(message.raw), "caller": origin.caller}
        return json.dumps({"jsonrpc": "2.0", "id": message.id, "result": result}).encode()


def test_a_question_of_our_own_says_who_asks_in_the_modern_form() -> None:
    answer = asyncio.run(ask(_Echo(), "tools/list", {"cursor": "c"}, caller="x"))
    result = json.loads(answer.raw)["result"]
    assert result["caller"] == "x"
    params = result["asked"]["params"]
    assert params["cursor"] == "c"
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert params["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [("a", b'"x"', "x"), ("b", b"[1.0]", None), ("c", None, None), ("d", None, None)],
)
def test_a_member_is_its_bytes_and_null_is_none(name: str, raw: bytes | None, text: str | None) -> None:
    members = read_level(b'{"a": "x", "b": [1.0], "c": null}')
    assert member(members, name) == raw
    assert text_member(members, name) == text


def test_where_nobody_listens_nothing_is_said() -> None:
    assert ignore(b"{}") is None  # type: ignore[func-returns-value]  # that is the point
