"""Many callers with equal ids: each gets exactly one answer, and no answer carries another caller's nonce.

Servers that answer twice, late, each other's call, with wrong ids or none, half or no JSON, and that restart.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import pytest

from tests.contracts.rig import Answer, Gateway, HttpGateway, Json, WrapGateway, serve, wrap
from tests.gateway.running import at_once, read_records
from tests.stubs.out_of_step import FAULTS, Fault, OutOfStep, out_of_step

Front = Literal["server", "all", "compact", "wrap"]
FRONTS: tuple[Front, ...] = get_args(Front)
ERAS = ("legacy", "modern", "legacy-to-modern", "modern-to-legacy")
CALLERS = 4
ROUNDS = 4
LIMITS = {"call_timeout_s": 1}
Servers = dict[Fault, OutOfStep]


class Caller(NamedTuple):
    name: str
    gateway: Gateway
    front: Front

    def call(self, server: Fault, number: int) -> tuple[str, Answer]:
        """A call with a nonce of its own; what came back."""
        nonce = f"nonce-of-{self.name}-{server}-{number}-end"
        arguments: Json = {"nonce": nonce}
        tool = f"{server}__echo" if self.front == "all" else "echo"
        if self.front == "compact":
            tool, arguments = server, {"action": "echo", "arguments": arguments}
        return nonce, self.gateway.call(tool, json.dumps(arguments).encode())


@contextmanager
def calling(front: Front, servers: Servers, folder: Path, *, is_modern: bool) -> Iterator[dict[Fault, list[Caller]]]:
    """The callers of each server, whose ids are all 1, 2, 3. `wrap` has one client, and its calls are the callers."""
    own = {"surface": "compact"} if front == "compact" else {}
    entries = {name: {"url": server.url, "handfast": own} for name, server in servers.items()}
    settings = {"mcpServers": entries, "limits": LIMITS}
    (folder / "handfast.json").write_text(json.dumps(settings))
    with ExitStack() as stack:
        base = "" if front == "wrap" else stack.enter_context(serve(settings, folder))
        found: dict[Fault, list[Caller]] = {}
        for name, server in servers.items():
            gateways: list[Gateway] = []
            if front == "wrap":
                process = stack.enter_context(wrap(["--url", server.url], folder))
                gateways = [WrapGateway(process, folder / "state", is_modern=is_modern)]
            else:
                gateways += [_at(base, folder, front, name, is_modern=is_modern) for _ in range(CALLERS)]
            for gateway in gateways:
                gateway.open()
            found[name] = [Caller(f"caller{number}", gateway, front) for number, gateway in enumerate(gateways)]
        yield found


def _at(base: str, folder: Path, front: Front, server: str, *, is_modern: bool) -> Gateway:
    gateway = HttpGateway(base, folder / "state", server=server, is_modern=is_modern)
    if front == "all":
        gateway.path = "/mcp"
    return gateway


def is_own(nonce: str, answer: Answer) -> bool:
    """Whether the call succeeded; nobody else's nonce may be in what came back, whatever it is."""
    assert answer.raw.count(b"nonce-of-") == answer.raw.count(nonce.encode()), (nonce, answer.raw)
    return nonce.encode() in answer.raw and not answer.is_error


def call_in_turns(callers: list[Caller], server: Fault) -> list[tuple[str, Answer]]:
    """One after the other on the same warm connection; two at once where answers are to be mixed up."""
    found: list[tuple[str, Answer]] = []
    for number in range(2 if server == "late" else ROUNDS if len(callers) > 1 else ROUNDS * 2):
        if server == "swapped":
            for pair in (callers[:2], callers[2:]):
                found += at_once(*(partial(caller.call, server, number) for caller in pair))
        else:
            found += [caller.call(server, number) for caller in callers]
    return found


@pytest.mark.requirement("F1")
@pytest.mark.parametrize("form", ["json", "sse"])
@pytest.mark.parametrize("eras", ERAS)
@pytest.mark.parametrize("front", FRONTS)
def test_no_caller_sees_the_nonce_of_another(tmp_path: Path, front: Front, eras: str, form: str) -> None:
    client, _, server_era = eras.partition("-to-")
    is_modern = (server_era or client) == "modern"
    with ExitStack() as stack:
        servers = {
            fault: stack.enter_context(out_of_step(fault, is_modern=is_modern, is_stream=form == "sse"))
            for fault in FAULTS
            if front != "wrap" or fault != "swapped"
        }
        callers = stack.enter_context(calling(front, servers, tmp_path, is_modern=client == "modern"))
        found = dict(
            zip(servers, at_once(*(partial(call_in_turns, callers[name], name) for name in servers)), strict=True)
        )
    failed = {name: [is_own(*each) for each in calls].count(False) for name, calls in found.items()}
    # Each fault costs the one call that met it: its connection is not used again.
    surplus = failed.pop("twice")
    assert 0 < surplus < servers["twice"].faults  # nothing met the last one, and a list may have met others
    assert failed == {name: server.faults for name, server in servers.items() if name != "twice"}
    failed["twice"] = surplus
    if front == "wrap":
        return
    records = read_records(tmp_path / "state", type="tool_call")
    assert len(records) == sum(map(len, found.values()))
    assert sum(record.status.value == "success" for record in records) == len(records) - sum(failed.values())
