"""Two clients subscribed to different resources of one real server: each hears of its own and of no other."""

import json
from pathlib import Path

import pytest

from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import OpenPost, Serving, at_once, call, running, send
from tests.parts import Parts

UPDATED = "notifications/resources/updated"


def resource(number: int) -> str:
    return f"demo://resource/dynamic/text/{number}"


def hear(gateway: Serving, client: HttpGateway, number: int) -> list[Json]:
    """Subscribe, have the server announce changes, and give every message up to the first announcement."""
    listening = OpenPost(client, b"", method="GET")
    assert client.request("resources/subscribe", {"uri": resource(number)}).result == {}
    body = call(90 + number, "toggle-subscriber-updates")
    answered = send(gateway.base, "POST", client.path, body, client.headers(body))
    lines = [line.removeprefix(b"data: ") for line in answered.body.splitlines()]
    heard = [json.loads(line) for line in lines if line.startswith(b"{")]
    while not any(message.get("method") == UPDATED for message in heard):
        heard.append(listening.next_event())
    listening.leave()
    return heard


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("capabilities", [None, {"roots": {}}], ids=["shared at first", "own children"])
def test_nobody_hears_of_what_another_subscribed_to(parts: Parts, tmp_path: Path, capabilities: Json) -> None:
    command = parts.everything
    with running({"up": {"command": command[0], "args": command[1:]}}, tmp_path) as gateway:
        clients = [gateway.client(capabilities=capabilities) for _ in range(2)]
        heard = at_once(*[lambda n=n, one=one: hear(gateway, one, n) for n, one in enumerate(clients, 1)])
    for number, messages in enumerate(heard, 1):
        updates = {message["params"]["uri"] for message in messages if message.get("method") == UPDATED}
        assert updates == {resource(number)}
        assert resource(3 - number) not in json.dumps(messages)  # nor in its log messages
