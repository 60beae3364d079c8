"""What all servers say of themselves together."""

import asyncio
from typing import Any

from handfast import __version__
from tests.gateway.translate.combined.scripted import Json, Rig, Scripted, items

TASKS = "io.modelcontextprotocol/tasks"
META = {"io.modelcontextprotocol/serverInfo": {"name": "handfast", "version": __version__}}


def _server(capabilities: Json, **more: Any) -> Scripted:  # Any: JSON
    return Scripted(capabilities=capabilities, discovery=more)


def _discovered(rig: Rig) -> Json:
    return asyncio.run(rig.ask("server/discover"))["result"]  # type: ignore[no-any-return]  # JSON


def test_capabilities_are_those_of_all_and_the_caching_that_of_the_strictest() -> None:
    rig = Rig(
        {
            "b": _server({"tools": {}, "completions": {}, "tasks": {}}, instructions="Use b.", ttlMs=5000),
            "a": _server(
                {"resources": {"subscribe": True}, "logging": {}, "extensions": {TASKS: {}, "com.example/x": {}}},
                instructions="Use a.",
                cacheScope="private",
            ),
            "c": _server({}, instructions=" "),
        }
    )
    assert _discovered(rig) == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28", "2025-11-25"],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
            "extensions": {TASKS: {}},
        },
        "instructions": "## a\n\nUse a.\n\n## b\n\nUse b.",
        "ttlMs": 5000,
        "cacheScope": "private",
        "_meta": META,
    }


def test_while_a_server_is_away_all_lists_are_promised_and_nobody_may_keep_the_answer() -> None:
    # A client that was not promised tools would never ask for them, also once the server is there.
    down = Scripted(is_down=True)
    slow = Scripted(silent={"server/discover"})
    rig = Rig({"a": _server({"tools": {}}), "down": down, "slow": slow}, seconds=0.05)
    lists = {name: {"listChanged": True} for name in ("tools", "prompts", "resources")}
    found = _discovered(rig)
    assert (found["capabilities"], found["ttlMs"], found["cacheScope"]) == (lists, 0, "private")
    assert found["_meta"] == {
        **META,
        "handfast/unavailable": {
            "down": "It answered with an error: It does not start. Try again in 5 seconds.",
            "slow": "It did not answer within 0.05 seconds.",
        },
    }
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [
        ("down", "combined.unavailable"),
        ("slow", "combined.unavailable"),
    ]
    assert _discovered(Rig({}))["capabilities"] == lists


def test_endless_instructions_are_cut() -> None:
    rig = Rig({f"s{n}": _server({}, instructions="x" * 50_000) for n in range(9)})
    text = _discovered(rig)["instructions"]
    assert len(text) == 20_000
    assert text.startswith("## s0\n\n" + "x" * 4000 + "\n\n## s1")


def test_what_a_server_can_do_is_asked_once_a_minute_and_of_a_new_one_at_once() -> None:
    server = Scripted({"tools/list": [items("x")]})
    rig = Rig({"a": server})

    async def ask() -> None:
        await rig.names()
        await rig.names()
        assert server.methods() == ["server/discover", "tools/list", "tools/list"]
        rig.now += 61
        await rig.names()
        assert server.methods().count("server/discover") == 2
        rig.servers = {"a": Scripted({"tools/list": [items("x")]}, capabilities={})}
        assert await rig.names() == []

    asyncio.run(ask())


def test_one_callers_view_of_a_server_is_not_shown_to_another() -> None:
    server = Scripted({"tools/list": [items("x")]})
    rig = Rig({"a": server})

    async def ask() -> None:
        await rig.ask("tools/list", caller="ada")
        server.capabilities = {}
        assert (await rig.ask("tools/list", caller="bob"))["result"]["tools"] == []

    asyncio.run(ask())


def test_servers_are_asked_in_the_name_of_the_client() -> None:
    server = Scripted()
    rig = Rig({"a": server})
    meta = b'{"io.modelcontextprotocol/clientCapabilities":{"roots":{ }},"progressToken":3}'
    asyncio.run(rig.ask_raw(b'{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":%s}}' % meta))
    assert b'"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{ }}}' in server.asked[0].raw
    assert [origin.caller.name for origin in server.origins] == ["session ada"]
