"""Asking a backend on handfast's own account."""

import asyncio
import json

from handfast.core.call.caller import Caller
from handfast.gateway.translate.backend import Requester, ask, ignore
from handfast.wire.message import Message
from handfast.wire.replies import answer_message


class _Echo:
    """Answers with what it was asked."""

    async def request(self, message: Message, origin: Requester) -> Message:
        result = {"asked": json.loads(message.raw), "caller": origin.caller.name}
        return answer_message(message.id, result)


def test_a_question_of_our_own_says_who_asks_in_the_modern_form() -> None:
    answer = asyncio.run(ask(_Echo(), "tools/list", {"cursor": "c"}, caller=Caller(actor="x")))
    result = json.loads(answer.raw)["result"]
    assert result["caller"] == "actor x"
    params = result["asked"]["params"]
    assert params["cursor"] == "c"
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert params["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {}


def test_where_nobody_listens_nothing_is_said() -> None:
    assert ignore(b"{}") is None  # type: ignore[func-returns-value]  # that is the point
