"""The surface of a server follows its settings, from one request to the next."""

import asyncio
import json

from handfast.gateway.settings.blocks import Surface
from handfast.gateway.translate.backend import Requester, ask
from handfast.gateway.translate.compact.surface import ChosenSurface
from handfast.wire.message import Message
from handfast.wire.replies import answer_message


class Named:
    """Answers with its own name."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def request(self, message: Message, _origin: Requester) -> Message:
        return answer_message(message.id, {"name": self.name})


def test_a_changed_setting_holds_with_the_next_request() -> None:
    surfaces = iter([Surface.FULL, Surface.COMPACT, Surface.FULL])
    backend = ChosenSurface(Named("full"), Named("compact"), lambda: next(surfaces))

    async def names() -> list[str]:
        return [json.loads((await ask(backend, "tools/list")).raw)["result"]["name"] for _ in range(3)]

    assert asyncio.run(names()) == ["full", "compact", "full"]
