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
from tests.stubs.out_of_step import FAULTS, Fault, out_of_step, pipe_out_of_step

Front = Literal["server", "all", "compact", "wrap"]
FRONTS: tuple[Front, ...] = get_args(Front)
ERAS = ("legacy", "modern", "legacy-to-modern", "modern-to-legacy")
CALLERS = 4
ROUNDS = 4
LIMITS = {"call_timeout_s": 1}
Entries = dict[Fault, Json]


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
def calling(front: Front, servers: Entries, folder: Path, *, is_modern: bool) -> Iterator[dict[Fault, list[Caller]]]:
    """The callers of each server, whose ids are all 1, 2, 3. `wrap` has one client, and its calls are the callers."""
    own = {"surface": "compact"} if front == "compact" else {}
    entries = {name: {**entry, "handfast": own} for name, entry in servers.items()}
    settings = {"mcpServers": entries, "limits": LIMITS}
    (folder / "handfast.json").write_text(json.dumps(settings))
    with ExitStack() as stack:
        base = "" if front == "wrap" else stack.enter_context(serve(settings, folder))
        found: dict[Fault, list[Caller]] = {}
        for name, entry in servers.items():
            gateways: list[Gateway] = []
            if front == "wrap":
                server = ["--url", entry["url"]] if "url" in entry else ["--", entry["command"], *entry["args"]]
                process = stack.enter_context(wrap(server, folder))
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


def call_all(callers: dict[Fault, list[Caller]]) -> dict[Fault, list[tuple[str, Answer]]]:
    """Every server at the same time."""
    return dict(
        zip(callers, at_once(*(partial(call_in_turns, each, name) for name, each in callers.items())), strict=True)
    )


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
        entries = {name: {"url": server.url} for name, server in servers.items()}
        callers = stack.enter_context(calling(front, entries, tmp_path, is_modern=client == "modern"))
        found = call_all(callers)
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


# A pipe is shared by all, and its answers find their calls by number: these cost nobody anything.
HARMLESS = {"twice", "swapped"}


@pytest.mark.requirement("F1")
@pytest.mark.parametrize("eras", ERAS)
@pytest.mark.parametrize("front", FRONTS)
def test_no_caller_sees_the_nonce_of_another_over_one_pipe(tmp_path: Path, front: Front, eras: str) -> None:
    client, _, server_era = eras.partition("-to-")
    is_modern = (server_era or client) == "modern"
    entries = {fault: pipe_out_of_step(fault, is_modern=is_modern) for fault in FAULTS}
    if front == "wrap":
        for fault in ("swapped", "restart"):  # one call at a time, and nobody starts a wrapped server again
            del entries[fault]
    with calling(front, entries, tmp_path, is_modern=client == "modern") as callers:
        found = call_all(callers)
    succeeded = {name: [is_own(*each) for each in calls] for name, calls in found.items()}
    assert all(any(each) for each in succeeded.values()), succeeded
    harmless = HARMLESS | {"late"} if front == "wrap" and not server_era else HARMLESS  # what is relayed has no time
    assert {name for name, each in succeeded.items() if all(each)} == harmless & entries.keys()
    if front == "wrap":
        return
    records = read_records(tmp_path / "state", type="tool_call")
    # A process takes its legacy sessions with it; whoever still calls in one is told so.
    assert len(records) == sum(answer.status != 404 for calls in found.values() for _, answer in calls)
    assert sum(record.status.value == "success" for record in records) == sum(map(sum, succeeded.values()))
