"""Every client library holds whole sessions through the gateway, and gets from them what it gets without it."""

import json
from hashlib import sha256
from typing import Any, get_args  # Any: results are JSON

import pytest

from tests.gateway.running import eventually, send
from tests.parts import Mode, Outcome, Sdk
from tests.real.stage import MODES, ROUTES, WRAPPED, Route, ServerName, Stage, tag
from tests.real.whole_session import ASKED_IN_RESULTS, BIG, Part

CLIENTS = [(sdk, mode) for sdk, modes in MODES.items() for mode in modes]
SESSIONS = [(sdk, mode, name) for sdk, mode in CLIENTS for name, route in ROUTES.items() if route.suits(sdk, mode)]
LISTS = ("tools", "resources", "prompts")
QUESTIONS = ("elicitation", "sampling", "questions in turn")
SERVERS: tuple[ServerName, ...] = get_args(ServerName)
# What 2026-07-28 adds to a result, and the gateway with it where it speaks that form to the server.
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
ADDED = ("resultType", "ttlMs", "cacheScope")


@pytest.mark.parametrize(("sdk", "mode", "name"), SESSIONS)
def test_a_whole_session_is_the_same_behind_the_gateway(stage: Stage, sdk: Sdk, mode: Mode, name: str) -> None:
    route = ROUTES[name]
    script, found = stage.script(sdk, mode, route), stage.report(sdk, mode, route)
    assert len(found) == len(script), found[-1]
    direct = stage.report(sdk, route.direct_mode(mode), route.direct)[: len(script)]
    is_relayed = not (route.is_merged or route.is_bridged(mode))
    is_event = is_relayed and route.server.endswith("http")
    for part, outcome, expected in zip(script, found, direct, strict=True):
        if part.name == "big result" and is_too_big(expected) and not is_event:
            continue  # where the gateway itself answers, it does so with a plain body, which the client does take
        if part.name == "info" and sdk in ("py", "fastmcp") and route.is_bridged(mode) and mode != "legacy":
            assert outcome["result"]["serverInfo"] is None  # pinned to its era it asks nobody before its first request
            continue
        if part.name in QUESTIONS and is_asked_otherwise(route, mode):
            assert outcome["result"]["content"] == [{"type": "text", "text": ASKED_IN_RESULTS[part.name]}]
            continue
        without = comparable(part, expected, route=route, mode=mode)
        assert comparable(part, outcome, route=route, mode=mode, like=expected) == without, part.name
    for part, outcome in zip(script, found, strict=True):
        check_went_well(part, outcome, is_modern=mode != "legacy", may_be_too_big=is_event)
        if part.name == "progress":
            check_progress(outcome, may_miss_last=sdk in ("ts", "ts1"))


@pytest.mark.parametrize(("sdk", "server"), [(sdk, server) for sdk in MODES for server in SERVERS])
def test_every_call_of_a_session_is_on_record_once(stage: Stage, sdk: Sdk, server: ServerName) -> None:
    recorded, expected = stage.calls(sdk, server)
    assert recorded == expected


@pytest.mark.parametrize(("sdk", "mode"), [client for client in CLIENTS if WRAPPED.suits(*client)])
def test_every_call_of_a_wrapped_session_is_on_record_once(stage: Stage, sdk: Sdk, mode: Mode) -> None:
    recorded, expected = stage.wrapped_calls(sdk, mode)
    assert recorded == expected


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(("sdk", "mode", "name"), SESSIONS)
def test_the_server_stops_what_a_client_cancelled(stage: Stage, sdk: Sdk, mode: Mode, name: str) -> None:
    route = ROUTES[name]
    stage.report(sdk, mode, route)
    if route.server.startswith("witness"):
        call = tag(sdk, mode, route)
        assert eventually(lambda: stage.events(call)[1:], "the call was stopped") == ["cancelled"]
    elif route.server == "everything-stdio":
        (part,) = (part for part in stage.script(sdk, mode, route) if part.name == "cancel")
        eventually(lambda: stage.cancelled_on_wire(part), "the server was told")


@pytest.mark.parametrize("sdk", MODES)
def test_no_server_is_left_busy_by_the_sessions_of_a_client(stage: Stage, sdk: Sdk) -> None:
    stage.calls(sdk, "witness-http")
    eventually(lambda: not busy(stage), "every call has ended", seconds=5)


def busy(stage: Stage) -> list[str]:
    health = json.loads(send(stage.base, "GET", "/health").body)
    return [name for name, server in health["servers"].items() if server["in_progress"]]


def is_asked_otherwise(route: Route, mode: Mode) -> bool:
    """Whether a legacy client is asked by tools that without the gateway would ask it nothing: those of 2026-07-28."""
    return mode == "legacy" and route.asks_in_results(mode) and not route.server.startswith("everything")


def comparable(
    part: Part, outcome: Outcome, *, route: Route, mode: Mode, like: Outcome | None = None
) -> Any:  # Any: JSON
    """What must be equal with and without the gateway; `like` is the outcome without it, for the one with it."""
    if part.name == "ping" and mode != "legacy":
        return None  # there is none in 2026-07-28, and whoever is asked says so in words of its own
    if part.name == "info":
        # The merged endpoint speaks for itself. Version 1 of the TypeScript client does not know its revision on stdio.
        return None if route.is_merged else outcome["result"]["serverInfo"]
    if part.name == "unknown tool":
        return None  # in strict the gateway refuses it itself
    if route.is_merged and part.name == "read nothing":
        return None  # it knows every URI, so it refuses others itself
    if part.name == "progress":
        # check_progress looks at the rest: the TypeScript clients lose what arrives together with the answer.
        outcome = outcome["result"]["result"]
    if not (route.is_merged or route.is_bridged(mode)):
        return shortened(outcome)
    if part.name in LISTS:
        items = items_of(part, outcome)
        return items if like is None else only_of(route, items, like=items_of(part, like))
    return shortened(without_era(outcome))


def items_of(part: Part, outcome: Outcome) -> list[Any]:  # Any: as above
    """A list's items. Tasks of the older era have no form in 2026-07-28, so no tool says there whether it has them."""
    pages = outcome["result"] if part.name == "tools" else [outcome["result"]]
    items = [item for page in pages for item in page[part.name]]
    return [{key: value for key, value in item.items() if key != "execution"} for item in items]


def only_of(route: Route, items: list[Any], *, like: list[Any]) -> list[Any]:  # Any: as above
    """A server's own part of a merged list, under its own names; of resources those with its URIs, which have none."""
    if items and "uri" in items[0]:
        uris = {item["uri"] for item in like}
        return [item for item in items if item["uri"] in uris]
    return [
        {**item, "name": item["name"].removeprefix(route.prefix)}
        for item in items
        if item["name"].startswith(route.prefix)
    ]


def without_era(outcome: Outcome) -> Any:  # Any: as above
    """Without what a result has in one era alone: the kind of result, how long it may be kept, and whose it is."""
    if "result" not in outcome:
        return without_added(outcome)
    return {**outcome, "result": without_added(outcome["result"])}


def without_added(result: Any) -> Any:  # Any: as above
    meta = {key: value for key, value in result.get("_meta", {}).items() if key != SERVER_INFO}
    rest = {key: value for key, value in result.items() if key not in (*ADDED, "_meta")}
    return {**rest, "_meta": meta} if meta else rest


def shortened(value: Any) -> Any:  # Any: as above
    """A value whose difference from another can be read: long texts by their length and digest."""
    if isinstance(value, str) and len(value) > 10_000:
        return f"{len(value)} characters, {sha256(value.encode()).hexdigest()}"
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return value


def is_too_big(outcome: Outcome) -> bool:
    """The Python client takes no event over a mebibyte, and an HTTP server of the older era answers with events."""
    return "exceeded the 1048576 byte limit" in outcome.get("error", {}).get("message", "")


def check_went_well(part: Part, outcome: Outcome, *, is_modern: bool, may_be_too_big: bool) -> None:
    """That both are equal would say nothing if both had failed."""
    result = outcome.get("result", {})
    if part.name in ("unknown tool", "tool error"):
        assert "error" in outcome or result["isError"] is True, part.name
    elif part.name == "read nothing" or (part.name == "ping" and is_modern):
        assert set(outcome) == {"error"}, part.name
    elif part.name == "big result":
        assert (may_be_too_big and is_too_big(outcome)) or len(result["content"][0]["text"]) >= BIG
    elif part.name == "cancel":
        assert outcome == {"result": {"cancelled": True}}
    else:
        assert "error" not in outcome, part.name
        assert part.name in ("tools", "ping") or not result.get("isError"), part.name
    assert ("asked" in outcome) is (part.name in QUESTIONS), part.name


def check_progress(outcome: Outcome, *, may_miss_last: bool) -> None:
    seen = outcome["result"]["progress"]
    steps = [step["progress"] if isinstance(step, dict) else step[0] for step in seen]
    assert steps == [1, 2, 3] or (may_miss_last and steps == [1, 2])
