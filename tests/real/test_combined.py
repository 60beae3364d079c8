"""Real servers behind one endpoint: what each of them can do, all of them can do together."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.settings import Settings, load_settings
from tests.gateway.running import read_records
from tests.gateway.translate.combined.scripted import until
from tests.gateway.translate.servers.asking import Asker
from tests.parts import Parts

Json = Any  # Any: decoded JSON
Work = Callable[[Servers], Awaitable[None]]
UNAVAILABLE = "handfast/unavailable"


def _entry(target: str | Sequence[str]) -> Json:
    return {"url": target} if isinstance(target, str) else {"command": target[0], "args": list(target[1:])}


def behind_one(targets: Mapping[str, Sequence[str]], folder: Path, work: Work, *, seconds: float = 60) -> None:
    """Do the work with these servers behind one endpoint, and see that nothing is left of it."""

    async def run() -> None:
        before = asyncio.all_tasks()
        config = folder / "handfast.json"
        servers = {name: _entry(target) for name, target in targets.items()}
        # Node takes a while to start when everything starts at once.
        config.write_text(json.dumps({"mcpServers": servers, "limits": {"learn_timeout_s": seconds}}))
        runtime = Runtime(load_settings(config, environ={}), folder / "state")
        upstreams = Servers(runtime)
        try:
            await work(upstreams)
        finally:
            await upstreams.close()
            await runtime.close()
        assert asyncio.all_tasks() == before

    asyncio.run(run())


@pytest.fixture
def targets(parts: Parts, tmp_path: Path) -> dict[str, Sequence[str]]:
    (tmp_path / "memory.jsonl").write_text("")
    return {"time": parts.time, "everything": parts.everything, "memory": parts.memory(tmp_path / "memory.jsonl")}


@pytest.mark.requirement("D12")
def test_three_servers_are_one(targets: Mapping[str, Sequence[str]], tmp_path: Path) -> None:
    async def work(upstreams: Servers) -> None:
        asker = Asker(upstreams.combined)
        found = (await asker.ask("server/discover"))["result"]
        assert {"tools", "prompts", "resources", "completions"} <= found["capabilities"].keys()
        assert found["instructions"].startswith("## everything\n\n")
        listed = (await asker.ask("tools/list"))["result"]
        assert UNAVAILABLE not in listed["_meta"]
        names = [tool["name"] for tool in listed["tools"]]
        assert [name.partition("__")[0] for name in names] == sorted(name.partition("__")[0] for name in names)
        assert {"everything__echo", "memory__read_graph", "time__convert_time"} <= set(names)
        alone = (await Asker(upstreams.backends()["memory"]).ask("tools/list"))["result"]["tools"]
        together = [tool for tool in listed["tools"] if tool["name"].startswith("memory__")]
        assert together == [{**tool, "name": f"memory__{tool['name']}"} for tool in alone]

        echoed = await asker.call("everything__echo", {"message": "caf\u00e9"})
        assert echoed["result"]["content"] == [{"type": "text", "text": "Echo: caf\u00e9"}]
        when = {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}
        assert "21:30" in (await asker.call("time__convert_time", when))["result"]["content"][0]["text"]
        assert (await asker.call("memory__read_graph"))["result"]["structuredContent"]["entities"] == []
        lossy = await asker.call("everything__echo", {"message": "x", "data": {"message": "y"}})
        assert lossy["result"]["isError"]

    behind_one(targets, tmp_path, work)
    # Judged and recorded by the server's own name and the tool's own: policies hold wherever a call comes from.
    calls = [
        (record.server, record.tool, record.status) for record in read_records(tmp_path / "state", type="tool_call")
    ]
    assert sorted(calls) == [
        ("everything", "echo", "blocked"),
        ("everything", "echo", "success"),
        ("memory", "read_graph", "success"),
        ("time", "convert_time", "success"),
    ]


def test_prompts_resources_templates_and_completions_find_their_server(
    targets: Mapping[str, Sequence[str]], tmp_path: Path
) -> None:
    async def work(upstreams: Servers) -> None:
        asker = Asker(upstreams.combined)
        prompts = (await asker.ask("prompts/list"))["result"]["prompts"]
        assert "everything__simple-prompt" in [prompt["name"] for prompt in prompts]
        got = await asker.ask("prompts/get", {"name": "everything__simple-prompt"})
        assert got["result"]["messages"]
        uri = (await asker.ask("resources/list"))["result"]["resources"][0]["uri"]
        assert (await asker.ask("resources/read", {"uri": uri}))["result"]["contents"][0]["uri"] == uri
        templates = (await asker.ask("resources/templates/list"))["result"]["resourceTemplates"]
        template = next(found["uriTemplate"] for found in templates if "text" in found["uriTemplate"])
        made = template.replace("{resourceId}", "3")
        stranger = Asker(upstreams.combined, caller="a stranger")  # for whom nothing is known yet
        assert (await stranger.ask("resources/read", {"uri": made}))["result"]["contents"][0]["uri"] == made
        reference = {"type": "ref/resource", "uri": template}
        argument = {"name": "resourceId", "value": "1"}
        done = await asker.ask("completion/complete", {"ref": reference, "argument": argument})
        assert done["result"]["completion"]["values"] == ["1"]
        unknown = await asker.ask("resources/read", {"uri": "nobody://1"})
        assert unknown["error"]["code"] == -32602

    behind_one(targets, tmp_path, work)


def test_a_server_that_asks_the_client_gets_its_answer_through_the_wrapped_state(parts: Parts, tmp_path: Path) -> None:
    async def work(upstreams: Servers) -> None:
        asker = Asker(upstreams.combined, capabilities={"elicitation": {}, "sampling": {}})
        asked = (await asker.call("a__trigger-sampling-request", {"prompt": "hi"}))["result"]
        assert (asked["resultType"], len(asked["inputRequests"])) == ("input_required", 1)
        (name,) = asked["inputRequests"]
        sample = {"role": "assistant", "content": {"type": "text", "text": "deep thought"}, "model": "m"}
        more = {"inputResponses": {name: sample}, "requestState": asked["requestState"]}
        elsewhere = await asker.call("b__trigger-sampling-request", {"prompt": "hi"}, **more)
        assert elsewhere["error"]["code"] == -32602
        done = (await asker.call("a__trigger-sampling-request", {"prompt": "hi"}, **more))["result"]
        assert "deep thought" in done["content"][0]["text"]

    behind_one({"a": parts.everything, "b": parts.everything}, tmp_path, work)


def test_a_server_that_does_not_start_costs_only_itself(parts: Parts, tmp_path: Path) -> None:
    async def work(upstreams: Servers) -> None:
        asker = Asker(upstreams.combined)
        listed = (await asker.ask("tools/list"))["result"]
        assert {tool["name"].partition("__")[0] for tool in listed["tools"]} == {"time"}
        assert (list(listed["_meta"][UNAVAILABLE]), listed["ttlMs"]) == (["broken", "missing"], 0)
        down = await asker.call("missing__t")
        assert (down["error"]["code"], "missing" in down["error"]["message"]) == (-31001, True)

    exits = [sys.executable, "-c", "raise SystemExit(3)"]
    targets = {"broken": exits, "missing": ["no-such-command-here"], "time": parts.time}
    behind_one(targets, tmp_path, work)


def test_news_of_a_real_server_arrive_under_the_clients_own_subscription(parts: Parts, tmp_path: Path) -> None:
    async def work(upstreams: Servers) -> None:
        asker = Asker(upstreams.combined, caller="ada")
        uri = (await asker.ask("resources/list"))["result"]["resources"][0]["uri"]
        wanted = {"toolsListChanged": True, "resourceSubscriptions": [uri]}
        listening = asyncio.create_task(asker.ask("subscriptions/listen", {"notifications": wanted}))
        try:
            await until(lambda: asker.heard)
            acknowledged = asker.heard[0]
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["notifications"] == wanted
            meta = acknowledged["params"]["_meta"]
            upstreams.combined.servers_changed()
            await until(lambda: len(asker.heard) > 1)
            assert asker.heard[1] == {
                "jsonrpc": "2.0",
                "method": "notifications/tools/list_changed",
                "params": {"_meta": meta},
            }
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    behind_one({"everything": parts.everything, "time": parts.time}, tmp_path, work)


@pytest.mark.requirement("000-12")
def test_a_compact_server_is_one_tool_among_those_of_the_others(parts: Parts, tmp_path: Path) -> None:
    config = tmp_path / "handfast.json"
    file = tmp_path / "memory.jsonl"
    entries = {"time": _entry(parts.time), "memory": _entry(parts.memory(file))}
    ada = {"name": "ada", "entityType": "person", "observations": []}

    def settings(surface: str) -> Settings:
        memory = {**entries["memory"], "handfast": {"surface": surface}}
        whole = {"mcpServers": {**entries, "memory": memory}, "limits": {"learn_timeout_s": 60}}
        config.write_text(json.dumps(whole))
        return load_settings(config, environ={})

    async def names(asker: Asker) -> list[str]:
        return [tool["name"] for tool in (await asker.ask("tools/list"))["result"]["tools"]]

    async def run() -> None:
        runtime = Runtime(settings("compact"), tmp_path / "state")
        upstreams = Servers(runtime)
        try:
            asker = Asker(upstreams.combined)
            assert await names(asker) == ["memory__memory", "time__get_current_time", "time__convert_time"]
            sent = {"action": "create_entities", "arguments": {"entities": [ada]}}
            assert (await asker.call("memory__memory", sent))["result"]["structuredContent"] == {"entities": [ada]}
            refused = await asker.call("memory__memory", {"action": "create_entities", "data": {"entities": [ada]}})
            assert refused["result"]["content"][0]["text"].endswith('\nDeclared fields: ["entities"].')
            old, runtime.settings = runtime.settings, settings("full")
            upstreams.apply(old, runtime.settings)
            assert "memory__create_entities" in await names(asker)
        finally:
            await upstreams.close()
            await runtime.close()

    asyncio.run(run())
    assert json.loads(file.read_text()) == {"type": "entity", **ada}
