"""Servers of the official SDK under the contract, message by message: what is asked of them, and what they send."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, TextContent, Tool
from pydantic import AnyHttpUrl

from handfast.toolkit import under_contract
from handfast.toolkit.adapters import judging
from tests.contracts.rig import MODERN_META, HttpGateway
from tests.toolkit.adapters.faulty_sdk import SCORE, answer, high
from tests.toolkit.adapters.shop import Shop, listed
from tests.toolkit.adapters.wire import Wire, wired
from tests.toolkit.records import Kept

Json = Any  # Any: decoded JSON
NOTHING: Json = {"type": "object", "properties": {}}
META = json.dumps(MODERN_META).encode()
LISTEN = json.dumps({"_meta": MODERN_META, "notifications": {"toolsListChanged": True}}).encode()


def talk(server: Any, session: Callable[[Wire], Any], *, is_modern: bool = True) -> Any:
    async def whole() -> Any:
        async with wired(server, is_modern=is_modern) as wire:
            return await session(wire)

    return asyncio.run(whole())


# --- the list ----------------------------------------------------------------------------------------------------


def test_a_server_is_asked_for_its_list_once_however_many_calls_come_at_once() -> None:
    shop = Shop([listed("buy", "n"), listed("sell", "n")])
    shop.opens.clear()
    under_contract(shop.server, recorder=Kept())

    async def session(wire: Wire) -> None:
        for number in range(20):
            message = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"buy"}}' % (1000 + number)
            await wire.send(message.replace(b'"name"', b'"_meta":' + META + b',"name"'))
        shop.opens.set()
        assert (await wire.call("sell", {"n": "x"}))["isError"]
        assert (await wire.call("buy", {"n": 1}))["structuredContent"] == {"n": 1}

    talk(shop.server, session)
    assert shop.lists == 1
    assert len(shop.calls) == 21


def test_every_page_is_asked_for() -> None:
    shop = Shop([listed(f"t{number}", "n") for number in range(7)], per_page=3)
    under_contract(shop.server, recorder=Kept())

    async def session(wire: Wire) -> None:
        for tool in ("t6", "t0", "t3"):
            assert (await wire.call(tool, {"n": 1, "m": 1}))["isError"]

    talk(shop.server, session)
    assert (shop.lists, shop.calls) == (3, [])


@pytest.mark.requirement("D21")
def test_a_tool_that_came_later_is_found_and_one_that_is_nowhere_is_not_called() -> None:
    shop = Shop([listed("buy", "n")])
    under_contract(shop.server, recorder=Kept())

    async def session(wire: Wire) -> None:
        await wire.call("buy", {"n": 1})
        shop.tools.append(listed("sell", "m"))
        assert (await wire.call("sell", {"n": 1}))["isError"]
        assert (await wire.call("sell", {"m": 1}))["structuredContent"] == {"m": 1}
        assert (await wire.call("gi\u202eve", {}))["message"].startswith("There is no tool 'gi?ve'.")

    talk(shop.server, session)
    assert shop.calls == [("buy", {"n": 1}), ("sell", {"m": 1})]


def test_what_a_client_is_told_in_a_list_is_what_its_calls_are_judged_by() -> None:
    shop = Shop([listed("buy", "n")])
    under_contract(shop.server, recorder=Kept())

    async def session(wire: Wire) -> None:
        await wire.call("buy", {"n": 1})
        shop.tools[:] = [listed("buy", "m")]
        assert not (await wire.call("buy", {"n": 1})).get("isError")  # nobody was told otherwise
        await wire.request("tools/list")
        assert (await wire.call("buy", {"n": 1}))["isError"]
        assert not (await wire.call("buy", {"m": 1})).get("isError")

    talk(shop.server, session)
    assert shop.lists == 2


def changing(server: MCPServer, *, is_modern: bool) -> None:
    """Add a tool that replaces another one, and says so in the way of the client's era."""

    def count_since(since: int) -> int:
        return since

    @server.tool()
    async def change(ctx: Context) -> str:
        """Change another tool."""
        server.remove_tool("count_contacts")
        server.add_tool(count_since, "count_contacts", description="Count.")
        await (ctx.notify_tools_changed() if is_modern else ctx.session.send_tool_list_changed())
        return "changed"


@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_a_server_that_says_its_tools_have_changed_is_asked_again(is_modern: bool) -> None:
    server = high()
    changing(server, is_modern=is_modern)
    under_contract(server, recorder=Kept())

    async def session(wire: Wire) -> None:
        if is_modern:
            await wire.send(b'{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":' + LISTEN + b"}")
            await wire.heard("notifications/subscriptions/acknowledged")
        assert (await wire.call("count_contacts", {"since": 1}))["isError"]
        await wire.call("change")
        await wire.heard("notifications/tools/list_changed")
        assert not (await wire.call("count_contacts", {"since": 1}))["isError"]

    talk(server, session, is_modern=is_modern)


def test_a_server_without_a_list_is_forwarded_to_and_that_is_on_record(caplog: pytest.LogCaptureFixture) -> None:
    async def call_tool(_context: Any, params: Any) -> CallToolResult:
        return answer(params.arguments)

    kept = Kept()
    server: Server[Any] = under_contract(Server("mute", on_call_tool=call_tool), recorder=kept)

    async def session(wire: Wire) -> None:
        for _ in range(3):
            assert (await wire.call("any", {"x": {}}))["structuredContent"] == {"x": {}}

    talk(server, session)
    assert kept.told() == [("tool_call", "warning", "any", "contract.unknown")] * 3
    assert [record.message for record in caplog.records if record.name == "handfast.toolkit"] == [
        "mute would not list its tools (MCPError). Calls that cannot be judged are forwarded and recorded as such."
    ]


def test_one_list_that_fails_does_not_leave_the_next_call_unjudged() -> None:
    kept = Kept()
    shop = Shop([{"name": "buy"}])  # without a schema, which the SDK does not send
    under_contract(shop.server, recorder=kept)

    async def session(wire: Wire) -> None:
        assert not (await wire.call("buy", {"m": 1}))["isError"]
        shop.tools[:] = [listed("buy", "n")]
        assert (await wire.call("buy", {"m": 1}))["isError"]

    talk(shop.server, session)
    assert [rule for *_, rule in kept.told()] == ["contract.unknown", "arguments.unknown", "arguments.unknown"]


def test_a_list_that_never_comes_holds_a_call_for_a_while_and_the_next_ones_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging, "LIST_SECONDS", 0.05)
    lists = 0

    async def list_tools(_context: Any, _params: Any) -> Any:
        nonlocal lists
        lists += 1
        await asyncio.Event().wait()

    async def call_tool(_context: Any, params: Any) -> CallToolResult:
        return answer(params.arguments)

    kept = Kept()
    server: Server[Any] = Server("slow", on_list_tools=list_tools, on_call_tool=call_tool)
    under_contract(server, recorder=kept)

    async def session(wire: Wire) -> None:
        for _ in range(3):
            assert not (await wire.call("any")).get("isError")

    talk(server, session)
    assert lists == 1
    assert kept.told() == [("tool_call", "warning", "any", "contract.unknown")] * 3


# --- what goes through -------------------------------------------------------------------------------------------

EVERY_KIND: Json = {
    "content": [
        {"type": "text", "text": "é\u2028", "annotations": {"priority": 0.5}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a://b", "text": "t", "mimeType": "text/plain"}},
        {"type": "resource_link", "uri": "a://b", "name": "n"},
    ],
    "structuredContent": {"score": 1.0, "none": None, "deep": [{"ü": [1, 2.5, True]}]},
    "isError": False,
    "_meta": {"own/key": [1]},
    "resultType": "complete",
}


@pytest.mark.requirement("004-3")
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_what_passes_is_what_the_sdk_sends_without_it(is_modern: bool) -> None:
    async def session(wire: Wire) -> Json:
        return [await wire.call("rate", {}), await wire.request("tools/list"), await wire.request("prompts/list")]

    shops = [Shop([listed("rate", output=SCORE)], EVERY_KIND) for _ in range(2)]
    kept = Kept()
    under_contract(shops[1].server, recorder=kept)
    bare, held = (talk(shop.server, session, is_modern=is_modern) for shop in shops)
    assert held == bare
    (record,) = kept.records
    structured = json.dumps(EVERY_KIND["structuredContent"], ensure_ascii=False, separators=(",", ":")).encode()
    assert record.details["result_bytes"] == len(structured) + len("é\u2028") + len("aGk=") + len("t")


def test_a_refusal_has_the_envelope_of_the_servers_own_answers() -> None:
    shop = Shop([listed("buy", "n")])
    under_contract(shop.server, recorder=Kept())

    async def both(wire: Wire) -> tuple[Json, Json]:
        return await wire.call("buy", {"n": 1}), await wire.call("buy", {"m": 1})

    made, refused = talk(shop.server, both)
    card = {"name": "shop", "version": "2.0", "title": "The shop"}
    assert made["_meta"] == refused["_meta"] == {"io.modelcontextprotocol/serverInfo": card}
    text = "Argument 'm' is not a declared field. Remove it and call again.\nDeclared fields: [\"n\"]."
    plain = {"content": [{"type": "text", "text": text}], "isError": True}
    assert refused == {**plain, "resultType": "complete", "_meta": made["_meta"]}
    assert talk(shop.server, both, is_modern=False)[1] == plain


@pytest.mark.requirement("004-10")
@pytest.mark.requirement("D19")
@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"content": [], "structuredContent": {"score": "x"}, "isError": True, "resultType": "complete"}, "error"),
        ({"resultType": "input_required", "requestState": "s"}, "success"),
        ({"resultType": "task", "task": {"id": "1"}}, "success"),
    ],
    ids=["error", "input_required", "task"],
)
def test_what_is_no_final_result_is_not_judged(result: Json, status: str) -> None:
    shop = Shop([listed("rate", output=SCORE)], result)
    kept = Kept()
    under_contract(shop.server, recorder=kept)
    got = talk(shop.server, lambda wire: wire.call("rate"))
    assert {key: value for key, value in got.items() if key != "_meta"} == result
    assert kept.told() == [("tool_call", status, "rate", "")]


@pytest.mark.requirement("D19")
@pytest.mark.requirement("S5")
@pytest.mark.parametrize("kind", ["task", "input_required", "complete", "other"])
def test_what_carries_structured_content_is_judged_whatever_it_says_it_is(kind: str) -> None:
    shop = Shop(
        [listed("rate", output=SCORE)], {"resultType": kind, "content": [], "structuredContent": {"score": "x"}}
    )
    kept = Kept()
    under_contract(shop.server, recorder=kept)
    assert "structuredContent" not in talk(shop.server, lambda wire: wire.call("rate"))
    assert ("tool_call", "blocked", "rate", "result.schema") in kept.told()


@pytest.mark.requirement("D19")
def test_the_answer_to_a_question_is_a_call_that_is_judged_again() -> None:
    shop = Shop([listed("rate", "n", output=SCORE)], {"resultType": "input_required", "requestState": "s"})
    under_contract(shop.server, recorder=Kept())

    async def session(wire: Wire) -> None:
        assert (await wire.call("rate", {"n": 1}))["resultType"] == "input_required"
        shop.result = answer({"score": "x"})
        again = {"requestState": "s", "inputResponses": {}}
        assert (await wire.call("rate", {"n": "x"}, **again))["content"][0]["text"].startswith(
            "The arguments do not fit"
        )
        assert (await wire.call("rate", {"n": 1}, **again))["content"][0]["text"].startswith("The result of 'rate' was")

    talk(shop.server, session)


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "buy", "arguments": {"n": 1}, "_meta": {}}])
def test_a_request_that_is_none_is_for_the_sdk_to_refuse(params: Json) -> None:
    shops = [Shop([listed("buy", "n")]) for _ in range(2)]
    under_contract(shops[1].server, recorder=Kept())
    bare, held = (talk(shop.server, lambda wire: wire.request("tools/call", **params)) for shop in shops)
    assert held == bare
    assert shops[1].calls == []


@pytest.mark.parametrize("arguments", [[], "a", 5, [{"n": 1}]])
def test_arguments_that_are_no_object_get_the_text_of_the_gateway(arguments: Json) -> None:
    shop = Shop([listed("buy", "n")])
    under_contract(shop.server, recorder=Kept())
    refused = talk(shop.server, lambda wire: wire.request("tools/call", name="buy", arguments=arguments))
    assert refused["content"][0]["text"] == "The arguments must be a JSON object. Send one and call again."
    assert shop.calls == []


# --- an author's own middleware ----------------------------------------------------------------------------------


@pytest.mark.parametrize("comes", ["before", "after"])
def test_what_an_authors_middleware_makes_of_a_result_is_judged(comes: str) -> None:
    async def spoil(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method != "tools/call":
            return result
        text = TextContent(type="text", text="spoilt")
        return CallToolResult(content=[text], structured_content={"score": "x"})  # an object, not the wire's form

    shop = Shop([listed("rate", output=SCORE)], answer({"score": 1}))
    if comes == "before":
        shop.server.middleware.append(spoil)
    under_contract(shop.server, recorder=Kept())
    if comes == "after":
        shop.server.middleware.append(spoil)
    got = talk(shop.server, lambda wire: wire.call("rate"))
    assert got["content"][0]["text"].startswith("The result of 'rate' was blocked")


def test_what_an_authors_middleware_does_to_a_list_counts() -> None:
    async def rename(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/list":
            result["tools"] = [Tool(name="purchase", input_schema=NOTHING).model_dump(by_alias=True, exclude_none=True)]
        return result

    shop = Shop([listed("buy", "n")])
    shop.server.middleware.append(rename)
    under_contract(shop.server, recorder=Kept())

    async def session(wire: Wire) -> None:
        assert (await wire.call("buy", {"n": 1}))["code"] == -32602
        assert (await wire.call("purchase", {"n": 1}))["isError"]
        assert not (await wire.call("purchase", {})).get("isError")

    talk(shop.server, session)


# --- callers -----------------------------------------------------------------------------------------------------


class Tokens:
    """Whoever says a name has it."""

    async def verify_token(self, token: str) -> AccessToken:
        return AccessToken(token=token, client_id=token, scopes=[])


class Bearer(HttpGateway):
    """A modern client that shows a token."""

    def __init__(self, base: str, token: str) -> None:
        super().__init__(base, Path(), is_modern=True)
        self.path = "/mcp"
        self._token = token

    def headers(self, message: bytes) -> dict[str, str]:
        return {**super().headers(message), "Authorization": f"Bearer {self._token}"}


@contextmanager
def serving(app: Any) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.requirement("D18")
def test_nobody_is_told_about_a_tool_that_only_others_are_shown() -> None:
    async def list_tools(context: Any, _params: Any) -> Json:
        token = context.request.scope["user"].access_token.token
        tools = [listed("look", "n"), *([listed("purge", "secret_field")] if token == "root" else [])]
        return {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def call_tool(_context: Any, params: Any) -> CallToolResult:
        return answer(params.arguments)

    kept = Kept()
    server: Server[Any] = Server(
        "guarded",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda _name: None,  # or the SDK would ask for a list before each call
    )
    under_contract(server, recorder=kept)
    address = AnyHttpUrl("http://127.0.0.1")
    settings = AuthSettings(issuer_url=address, resource_server_url=None)
    with serving(server.streamable_http_app(auth=settings, token_verifier=Tokens())) as base:
        root, guest = Bearer(base, "root"), Bearer(base, "guest")
        assert "secret_field" in root.call("purge", {"x": 1}).text
        assert (
            guest.call("purge", {"x": 1}).text == "There is no tool 'purge'. Call tools/list for the tools there are."
        )
        assert root.call("purge", {"secret_field": 1}).result["structuredContent"] == {"secret_field": 1}
        assert guest.call("look", {"n": 1}).result["structuredContent"] == {"n": 1}
    assert [(record.actor, record.tool, record.status) for record in kept.records] == [
        ("root", "purge", "blocked"),
        ("root", "purge", "blocked"),
        ("guest", "purge", "blocked"),
        ("guest", "purge", "blocked"),
        ("root", "purge", "success"),
        ("guest", "look", "success"),
    ]
