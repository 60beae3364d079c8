"""The Backend of all servers: there and back with nothing changed that need not be."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.caller import ANYONE
from handfast.gateway.http.exchange import HttpProblem
from handfast.wire.message import Message, read_message
from handfast.wire.replies import answer, error_reply, notification
from tests.gateway.translate.combined.scripted import Json, Rig, Scripted, items, params_of, until


def _server(call: object = None, *methods: str) -> Scripted:
    reply = call or (lambda message: answer(message.id, {"resultType": "complete", "content": []}))
    return Scripted({"tools/list": [items("t")]}, answers=dict.fromkeys(("tools/call", *methods), reply))  # type: ignore[arg-type]


def test_a_call_and_its_answer_keep_every_byte_but_the_name() -> None:
    body = b'{"content":[ ],"structuredContent":{"n":1.0,"big":9007199254740993,"e":"\\u00e9"},"resultType":"complete"}'
    server = _server(lambda message: b'{"id":%s, "jsonrpc":"2.0","result":%s}' % (b'"q\\u0041"', body))
    rig = Rig({"a": server})
    sent = (
        b'{"jsonrpc":"2.0","id":"q\\u0041", "method":"tools/call","params":{"arguments":{"name":"a__t","n": 1.0},'
        b' "name" : "a__t","unknown":[1e400],"_meta":{"progressToken":0}}}'
    )
    assert asyncio.run(rig.ask_raw(sent)) == b'{"id":"q\\u0041", "jsonrpc":"2.0","result":%s}' % body
    assert server.asked[-1].raw == sent.replace(b'"name" : "a__t"', b'"name" : "t"')


def test_headers_go_along_with_the_call_and_with_nothing_else() -> None:
    server = _server()
    rig = Rig({"a": server})
    headers = [(b"mcp-param-region", b"eu")]

    async def call() -> None:
        raw = read_message(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__t","_meta":{}}}')
        await rig.combined.request(raw, rig.origin(params=headers, actor="Ada"))

    asyncio.run(call())
    assert [
        (asked.method, origin.params, origin.caller.actor)
        for asked, origin in zip(server.asked, server.origins, strict=True)
    ] == [
        ("server/discover", None, "Ada"),
        ("tools/list", None, "Ada"),
        ("tools/call", headers, "Ada"),
    ]


def test_what_a_server_sends_during_a_call_arrives_as_it_was_sent() -> None:
    said = [
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1.0}}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":"a task"}}',
    ]

    class Talking(Scripted):
        async def request(self, message, origin):  # type: ignore[no-untyped-def]  # as in the base
            if message.method == "tools/call":
                for raw in said:
                    origin.send(raw)
            return await super().request(message, origin)

    rig = Rig({"a": Talking({"tools/list": [items("t")]}, answers=_server().answers)})
    asyncio.run(rig.ask("tools/call", {"name": "a__t"}))
    assert rig.raw_sent == said


@pytest.mark.requirement("S9")
def test_a_server_tells_of_no_uri_of_anothers_during_a_call() -> None:
    def update(uri: str, method: str = "resources/updated") -> bytes:
        return b'{"jsonrpc":"2.0","method":"notifications/%s","params":{"uri":"%s"}}' % (method.encode(), uri.encode())

    said = [update("x:1"), update("x:1", "resources\\/updat\\u0065d"), update("x:mine"), update("x:unknown")]

    class Talking(Scripted):
        async def request(self, message, origin):  # type: ignore[no-untyped-def]  # as in the base
            if message.method == "tools/call":
                for raw in said:
                    origin.send(raw)
            return await super().request(message, origin)

    mine = {"tools/list": [items("t")], "resources/list": [items("x:mine", key="uri")]}
    other = Scripted({"resources/list": [items("x:1", key="uri")]})
    rig = Rig({"a": Talking(mine, answers=_server().answers), "b": other})

    async def call() -> None:
        await rig.ask("resources/list")
        await rig.ask("tools/call", {"name": "a__t"})

    asyncio.run(call())
    assert rig.raw_sent == said[2:]
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("a", "combined.foreign_update")] * 2


def test_cancelling_a_call_cancels_it_at_its_server() -> None:
    server = _server()
    server.silent.add("tools/call")
    rig = Rig({"a": server})

    async def leave() -> None:
        task = asyncio.create_task(rig.ask("tools/call", {"name": "a__t"}))
        await until(lambda: "tools/call" in server.methods())
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(leave())
    assert server.cancelled == ["tools/call"]


def test_a_server_that_is_down_says_so_under_its_name() -> None:
    rig = Rig({"files": Scripted(is_down=True)})
    assert asyncio.run(rig.ask("tools/call", {"name": "files__t"}))["error"] == {
        "code": -31001,
        "message": "files: It does not start. Try again in 5 seconds.",
    }


def test_an_error_of_a_server_that_gives_no_reason_is_an_answer_all_the_same() -> None:
    rig = Rig({"files": _server(lambda _: b'{"jsonrpc":"2.0","id":7,"error":{"code":-31001}}')})
    assert asyncio.run(rig.ask("tools/call", {"name": "files__t"}))["error"] == {
        "code": -31001,
        "message": "files: It gave no reason.",
    }


def test_an_error_of_the_servers_own_keeps_its_bytes() -> None:
    raw = b'{"jsonrpc":"2.0","id":7, "error":{"code":-32603,"message":"m","data":{"n":1.0}}}'
    rig = Rig({"a": _server(lambda _: raw)})
    assert asyncio.run(rig.ask_raw(_call("a__t"))) == raw


def test_a_server_that_cannot_be_reached_is_an_error_with_its_name() -> None:
    def gone(_: Message) -> bytes:
        raise ConnectionResetError

    rig = Rig({"a": _server(gone)})
    assert asyncio.run(rig.ask("tools/call", {"name": "a__t"}))["error"]["message"].startswith("The server a ")


def _call(name: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, **params}}).encode()


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("resources/read", {"uri": None}, -32602),
        ("tasks/get", {"taskId": "t1"}, -32602),
        ("tasks/get", {}, -32602),
        ("completion/complete", {"ref": []}, -32602),
        ("subscriptions/listen", {}, -32602),
        ("initialize", {}, -32601),
        ("com.example/own", {}, -32601),
    ],
)
def test_what_cannot_be_told_whose_it_is_is_refused(method: str, params: Json, code: int) -> None:
    assert asyncio.run(Rig({"a": _server()}).ask(method, params))["error"]["code"] == code


def test_a_request_that_can_be_read_in_two_ways_is_refused() -> None:
    raw = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a__t","name":"a__u"}}'
    server = _server()
    assert json.loads(asyncio.run(Rig({"a": server}).ask_raw(raw)))["error"]["code"] == -32602
    assert "tools/call" not in server.methods()


# --- requestState ----------------------------------------------------------------------------------------------------


def _asks(state: bytes, seen: list[bytes]) -> Scripted:
    """Asks back first; when the state comes back it is done."""

    def reply(message: Message) -> bytes:
        params = message.params()
        if "requestState" not in params:
            result = b'{"resultType":"input_required","inputRequests":{"k": {"n":1.0}},"requestState": %s}' % state
            return b'{"jsonrpc":"2.0","id":7,"result":%s}' % result
        seen.append(bytes(params["requestState"]))
        return answer(message.id, {"resultType": "complete", "content": []})

    server = _server(reply, "resources/read", "prompts/get")
    server.lists |= {"prompts/list": [items("t")], "resources/list": [items("x:1", key="uri")]}
    return server


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.booleans())
def test_a_state_comes_back_to_its_server_as_the_same_text(state: str, is_ascii: bool) -> None:
    written, seen = json.dumps(state, ensure_ascii=is_ascii).encode(), list[bytes]()
    rig = Rig({"a": _asks(b'"x"', []), "b": _asks(written, seen)})

    async def ask() -> None:
        raw = await rig.ask_raw(_call("b__t"))
        assert b'"inputRequests":{"k": {"n":1.0}}' in raw
        given = json.loads(raw)["result"]["requestState"]
        assert given != state
        responses = {"k": {"action": "accept"}}
        await rig.ask("tools/call", {"name": "b__t", "requestState": given, "inputResponses": responses})

    asyncio.run(ask())
    assert [json.loads(text) for text in seen] == [state]


@pytest.mark.parametrize(
    ("method", "key", "value"), [("prompts/get", "name", "b__t"), ("resources/read", "uri", "x:1")]
)
def test_prompts_and_resources_may_ask_back_as_well(method: str, key: str, value: str) -> None:
    seen: list[bytes] = []
    rig = Rig({"b": _asks(b'"s"', seen)})

    async def ask() -> None:
        state = (await rig.ask(method, {key: value}))["result"]["requestState"]
        rig.combined = Rig(rig.servers).combined  # as after a restart: nothing is known
        await rig.ask(method, {key: value, "requestState": state})

    asyncio.run(ask())
    assert seen == [b'"s"']


def test_a_state_that_was_changed_or_belongs_elsewhere_is_refused_and_reaches_nobody() -> None:
    seen: list[bytes] = []
    rig = Rig({"a": _asks(b'"x"', seen), "b": _asks(b'"y"', seen)})

    async def ask() -> list[int]:
        state = (await rig.ask("tools/call", {"name": "b__t"}))["result"]["requestState"]
        other = (await rig.ask("resources/read", {"uri": "x:1"}))["result"]["requestState"]  # of a
        assert (await rig.ask("resources/read", {"uri": "x:1", "requestState": other}))["result"]
        attempts = [
            ("tools/call", {"name": "a__t", "requestState": other}),
            ("resources/read", {"uri": "x:2", "requestState": other}),
            ("resources/read", {"uri": "x:2", "name": "x:1", "requestState": other}),
            ("prompts/get", {"name": "b__t", "requestState": state}),
            ("tools/call", {"name": "b__t", "requestState": state[:-1]}),
            ("tools/call", {"name": "b__t", "requestState": "y"}),
            ("tools/call", {"name": "b__t", "requestState": 5}),
            ("tools/call", {"name": "a__t", "requestState": state}),
            ("resources/read", {"uri": "x:1", "requestState": state}),
        ]
        return [(await rig.ask(method, params))["error"]["code"] for method, params in attempts]

    assert asyncio.run(ask()) == [-32602] * 9
    assert rig.refused == ["combined.forged"] * 9
    assert seen == [b'"x"']


@pytest.mark.requirement("S8")
@pytest.mark.parametrize("state", [b"5", b"{}", b"NaN", b'"\\ud800"', b'["s"]'])
def test_a_state_of_a_servers_that_is_no_text_is_an_error_that_says_so(state: bytes) -> None:
    rig = Rig({"a": _asks(state, [])})
    error = asyncio.run(rig.ask("tools/call", {"name": "a__t"}))["error"]
    assert error["code"] == -31001
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("a", "combined.unusable_state")]


def test_a_member_of_that_name_in_a_finished_answer_is_left_alone() -> None:
    raw = b'{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[],"requestState":"mine"}}'
    assert asyncio.run(Rig({"a": _server(lambda _: raw)}).ask_raw(_call("a__t"))) == raw


# --- tasks -----------------------------------------------------------------------------------------------------------


def _with_tasks(own: str = "t1") -> Scripted:
    def reply(message: Message) -> bytes:
        if message.method == "tools/call":
            return answer(message.id, {"resultType": "task", "taskId": own, "status": "working"})
        if message.method == "tasks/get":
            done = {"content": [{"type": "resource_link", "uri": "made:1", "name": "n"}]}
            task = {"resultType": "complete", "taskId": own, "status": "completed", "result": done}
            return answer(message.id, task)
        return answer(message.id, {"resultType": "complete"})

    return _server(reply, "tasks/get", "tasks/update", "tasks/cancel", "resources/read")


def test_a_task_is_asked_for_at_the_server_that_has_it() -> None:
    a, b = _with_tasks(), _with_tasks()  # both have a task of the same id
    rig = Rig({"a": a, "b": b})

    async def ask() -> None:
        task = (await rig.ask("tools/call", {"name": "b__t"}))["result"]["taskId"]
        assert (await rig.ask("tasks/get", {"taskId": task}))["result"]["taskId"] == task
        await rig.ask("tasks/update", {"taskId": task, "inputResponses": {}})
        await rig.ask("tasks/cancel", {"taskId": task})
        assert "result" in await rig.ask("resources/read", {"uri": "made:1"})
        del rig.servers["b"]
        gone = await rig.ask("tasks/get", {"taskId": task})
        assert gone["error"]["message"] == "The server that this belongs to is no longer here. Begin again."

    asyncio.run(ask())
    about = [asked for asked in b.asked if (asked.method or "").startswith("tasks/")]
    assert [params_of(asked)["taskId"] for asked in about] == ["t1", "t1", "t1"]
    assert not any(method.startswith("tasks/") for method in a.methods())


def test_news_of_a_task_during_a_call_have_its_wrapped_id() -> None:
    class Talking(Scripted):
        async def request(self, message, origin):  # type: ignore[no-untyped-def]  # as in the base
            origin.send(notification("notifications/tasks", {"taskId": "t1", "status": "working"}))
            return await super().request(message, origin)

    rig = Rig({"a": Talking({"tools/list": [items("t")]}, answers=_with_tasks().answers)})
    task = asyncio.run(rig.ask("tools/call", {"name": "a__t"}))["result"]["taskId"]
    assert rig.sent[-1]["params"]["taskId"] == task


# --- some of the servers ---------------------------------------------------------------------------------------------


def test_a_subset_has_only_its_servers_and_is_the_same_each_time() -> None:
    rig = Rig({name: _server() for name in "abc"})
    part = rig.combined.subset(["c", "a", "a"], ANYONE)
    assert part is rig.combined.subset(["a", "c"], ANYONE)

    async def ask() -> None:
        listed = await rig.ask("tools/list", backend=part)
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["a__t", "c__t"]
        refused = await rig.ask("tools/call", {"name": "b__t"}, backend=part)
        assert refused["error"]["code"] == -32602
        del rig.servers["a"]
        listed = await rig.ask("tools/list", backend=part)
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["c__t"]

    asyncio.run(ask())


@pytest.mark.parametrize("names", [["a", "nobody"], []])
def test_a_subset_with_an_unknown_server_is_refused_with_those_there_are(names: list[str]) -> None:
    with pytest.raises(HttpProblem) as refused:
        Rig({"b": _server(), "a": _server()}).combined.subset(names, ANYONE)
    assert (refused.value.status, refused.value.text) == (
        404,
        "Not every server that was asked for is here. Servers: a, b.",
    )


def test_endless_subsets_are_not_all_kept() -> None:
    rig = Rig({f"s{n}": _server() for n in range(100)})
    first = rig.combined.subset(["s0"], ANYONE)
    for n in range(100):
        rig.combined.subset([f"s{n}"], ANYONE)
    assert rig.combined.subset(["s0"], ANYONE) is not first


def test_an_error_reply_of_a_server_that_names_it_already_is_left_alone() -> None:
    raw = error_reply(7, -31001, "The server a does not start.")
    assert asyncio.run(Rig({"a": _server(lambda _: raw)}).ask_raw(_call("a__t"))) == raw
