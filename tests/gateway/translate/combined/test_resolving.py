"""Whose a name or a URI is, before any list and after all of them."""

import asyncio
import json

import pytest

from handfast.gateway.translate.combined.names import public_name
from handfast.wire.message import Message
from handfast.wire.replies import answer
from tests.gateway.translate.combined.scripted import Json, Rig, Scripted, items, params_of


def _echo(message: Message) -> bytes:
    """What arrived, in the answer."""
    params = {key: value for key, value in params_of(message).items() if key != "_meta"}
    return answer(message.id, {"resultType": "complete", "content": [], "got": params})


def _server(**lists: bytes) -> Scripted:
    pages = {f"{name.replace('_', '/')}/list": [page] for name, page in lists.items()}
    methods = ("tools/call", "prompts/get", "resources/read", "completion/complete")
    return Scripted(pages, answers=dict.fromkeys(methods, _echo))


def _got(answered: Json) -> Json:
    return answered["result"]["got"]  # type: ignore[no-any-return]  # JSON


def _refusal(answered: Json) -> str:
    assert answered["error"]["code"] == -32602
    return answered["error"]["message"]  # type: ignore[no-any-return]  # JSON


@pytest.mark.requirement("D12")
def test_a_call_works_before_any_list_and_its_tool_is_looked_up_once() -> None:
    server = _server(tools=items("t"))
    rig = Rig({"a": server})

    async def ask() -> None:
        assert _got(await rig.ask("tools/call", {"name": "a__t", "arguments": {}})) == {"name": "t", "arguments": {}}
        await rig.ask("tools/call", {"name": "a__t"})

    asyncio.run(ask())
    assert server.methods() == ["server/discover", "tools/list", "tools/call", "tools/call"]


@pytest.mark.requirement("D12")
@pytest.mark.parametrize("own", ["with space", "x" * 200, "", "a--0123456789abcdef", "_x", "é"])
def test_a_name_that_does_not_fit_is_found_by_its_short_form_also_before_any_list(own: str) -> None:
    rig = Rig({"a": _server(tools=items("other", own)), "b": _server(tools=items(own))})
    public = public_name("b", own)
    assert _got(asyncio.run(rig.ask("tools/call", {"name": public}))) == {"name": own}
    assert public in asyncio.run(rig.names())


def test_a_prompt_is_found_like_a_tool_and_is_not_a_tool() -> None:
    rig = Rig({"a": _server(prompts=items("p"))})
    assert _got(asyncio.run(rig.ask("prompts/get", {"name": "a__p"}))) == {"name": "p"}
    assert "There is no tool of this name." in _refusal(asyncio.run(rig.ask("tools/call", {"name": "a__p"})))


@pytest.mark.requirement("D21")
def test_an_unknown_name_is_refused_with_the_nearest_ones_and_reaches_no_server() -> None:
    server = _server(tools=items("create_issue", "close_issue", "zzz"))
    rig = Rig({"tracker": server, "other": _server()})
    said = _refusal(asyncio.run(rig.ask("tools/call", {"name": "tracker__create_isue"})))
    assert said == "There is no tool of this name. Did you mean tracker__create_issue? tools/list shows all."
    assert "tools/call" not in server.methods()


def test_an_unknown_server_is_refused_with_those_there_are() -> None:
    rig = Rig({"a": _server(), "b": _server()})
    for name in ("nowhere__t", "t", "__t", "a__"):
        assert _refusal(asyncio.run(rig.ask("tools/call", {"name": name}))) == (
            "There is no tool of this name. Names are server__tool; servers: a, b. tools/list shows all."
        )


def test_refusals_stay_short_however_much_there_is() -> None:
    rig = Rig({f"server-{n}": _server(tools=items(*(f"t{k}" for k in range(500)))) for n in range(60)})
    asyncio.run(rig.names())
    for name in ("server-1__t9" + "9" * 5000, "x" * 9000):
        assert len(_refusal(asyncio.run(rig.ask("tools/call", {"name": name})))) < 500


def test_a_tool_that_is_new_is_found_though_the_list_was_known() -> None:
    server = _server(tools=items("old"))
    rig = Rig({"a": server})

    async def ask() -> None:
        await rig.names()
        server.lists["tools/list"] = [items("old", "new")]
        assert _got(await rig.ask("tools/call", {"name": "a__new"})) == {"name": "new"}

    asyncio.run(ask())


def test_a_server_whose_list_is_not_to_be_had_decides_itself_and_is_not_asked_for_it_every_time() -> None:
    server = _server(tools=b"broken")
    rig = Rig({"a": server})

    async def ask() -> None:
        for _ in range(3):
            assert _got(await rig.ask("tools/call", {"name": "a__t"})) == {"name": "t"}
        assert server.methods().count("tools/list") == 1
        rig.now += 31
        await rig.ask("tools/call", {"name": "a__t"})
        assert server.methods().count("tools/list") == 2
        # What it stands for nobody can say without a list.
        assert "There is no tool" in _refusal(await rig.ask("tools/call", {"name": public_name("a", "x y")}))

    asyncio.run(ask())


# --- URIs ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("E5")
def test_a_uri_goes_only_to_the_server_that_lists_it() -> None:
    a, b = _server(resources=items("x:1", key="uri")), _server(resources=items("x:2", "x:1", key="uri"))
    rig = Rig({"a": a, "b": b})

    async def read(uri: str) -> Json:
        return _got(await rig.ask("resources/read", {"uri": uri}))

    assert [asyncio.run(read("x:1")), asyncio.run(read("x:2"))] == [{"uri": "x:1"}, {"uri": "x:2"}]
    assert [params_of(asked)["uri"] for asked in a.asked if asked.method == "resources/read"] == ["x:1"]
    assert [params_of(asked)["uri"] for asked in b.asked if asked.method == "resources/read"] == ["x:2"]


@pytest.mark.requirement("E5")
def test_a_uri_of_a_template_goes_to_its_server() -> None:
    a, b = _server(), _server(resources_templates=items("db://tables/{table}/{row}", key="uriTemplate"))
    rig = Rig({"a": a, "b": b})
    assert _got(asyncio.run(rig.ask("resources/read", {"uri": "db://tables/t/1"}))) == {"uri": "db://tables/t/1"}
    assert "resources/read" not in a.methods()
    assert rig.templated == [("b", "db://tables/t/1")]


@pytest.mark.requirement("E5")
def test_a_link_in_a_result_is_followed_for_the_caller_who_got_it_and_for_no_other() -> None:
    server = _server(tools=items("t"))
    link = {"content": [{"type": "resource_link", "uri": "secret:1", "name": "n"}]}
    server.answers["tools/call"] = lambda message: answer(message.id, link)
    rig = Rig({"a": _server(), "b": server})

    async def ask() -> None:
        assert "No server has listed" in _refusal(await rig.ask("resources/read", {"uri": "secret:1"}))
        await rig.ask("tools/call", {"name": "b__t"}, caller="ada")
        assert _got(await rig.ask("resources/read", {"uri": "secret:1"}, caller="ada")) == {"uri": "secret:1"}
        assert "No server has listed" in _refusal(await rig.ask("resources/read", {"uri": "secret:1"}, caller="bob"))

    asyncio.run(ask())
    assert server.methods().count("resources/read") == 1


@pytest.mark.requirement("E5")
def test_the_page_of_a_tool_is_read_from_its_server() -> None:
    page = json.dumps([{"name": "t", "_meta": {"ui": {"resourceUri": "ui://t"}}}]).encode()
    rig = Rig({"a": _server(), "b": _server(tools=page)})
    asyncio.run(rig.names())
    assert _got(asyncio.run(rig.ask("resources/read", {"uri": "ui://t"}))) == {"uri": "ui://t"}


def test_an_unknown_uri_is_asked_for_once_and_then_refused() -> None:
    server = _server(resources=items("x:1", key="uri"))
    rig = Rig({"a": server})
    assert asyncio.run(rig.ask("resources/read", {"uri": "x:9"}))["error"] == {
        "code": -32602,
        "message": "No server has listed, linked or templated this URI."
        " Take one from resources/list, or use /mcp/<server>.",
        "data": {"uri": "x:9"},
    }
    assert sorted(server.methods()) == ["resources/list", "resources/templates/list", "server/discover"]


def _linking(uri: str, **lists: bytes) -> Scripted:
    server = _server(tools=items("t"), **lists)
    link = {"content": [{"type": "resource_link", "uri": uri, "name": "n"}]}
    server.answers["tools/call"] = lambda message: answer(message.id, link)
    return server


@pytest.mark.requirement("S9")
def test_lists_are_known_before_a_link_decides_and_are_not_asked_for_every_time() -> None:
    lister, linker = _server(resources=items("x:1", key="uri")), _linking("x:2")
    rig = Rig({"lister": lister, "linker": linker})

    async def ask() -> None:
        await rig.ask("tools/call", {"name": "linker__t"})
        for _ in range(3):
            await rig.ask("resources/read", {"uri": "x:2"})
        assert (lister.methods().count("resources/list"), linker.methods().count("resources/read")) == (1, 3)
        lister.lists["resources/list"] = [items("x:2", key="uri")]  # from now on it is the lister's
        rig.now += 61
        await rig.ask("resources/read", {"uri": "x:2"})
        assert (lister.methods().count("resources/read"), linker.methods().count("resources/read")) == (1, 3)

    asyncio.run(ask())


@pytest.mark.requirement("S9")
def test_a_link_to_what_fits_anothers_template_is_read_from_the_linker_and_noted() -> None:
    templating = _server(resources_templates=items("x:t:{n}", key="uriTemplate"))
    rig = Rig({"a": templating, "b": _linking("x:t:1")})

    async def ask() -> None:
        await rig.ask("tools/call", {"name": "b__t"})
        assert _got(await rig.ask("resources/read", {"uri": "x:t:1"})) == {"uri": "x:t:1"}

    asyncio.run(ask())
    assert "resources/read" not in templating.methods()
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("b", "combined.contested_link")]


@pytest.mark.requirement("S9")
def test_what_two_servers_link_or_template_is_read_from_neither() -> None:
    template = items("x:t:{n}", key="uriTemplate")
    a, b = _linking("x:1", resources_templates=template), _linking("x:1", resources_templates=template)
    rig = Rig({"a": a, "b": b})

    async def ask() -> None:
        for name in ("a__t", "b__t"):
            await rig.ask("tools/call", {"name": name})
        for uri in ("x:1", "x:t:1"):
            said = _refusal(await rig.ask("resources/read", {"uri": uri}))
            assert said == "More than one server claims this URI: a, b. Use /mcp/<server> of the one that is meant."

    asyncio.run(ask())
    assert rig.refused == ["combined.unrouted"] * 2
    assert "resources/read" not in a.methods() + b.methods()


@pytest.mark.requirement("S9")
@pytest.mark.parametrize("template", ["https://{+p}", "https://{host}/{+p}", "HTTPS://{+p}", "https:{+p}"])
def test_what_only_a_catch_all_fits_is_read_from_nobody(template: str) -> None:
    greedy = _server(resources_templates=items(template, key="uriTemplate"))
    rig = Rig({"greedy": greedy, "other": _server()})
    said = _refusal(asyncio.run(rig.ask("resources/read", {"uri": "https://docs.example/x"})))
    assert said == "Only templates that fit any URI of their scheme fit this one, of: greedy. Use /mcp/<server>."
    assert rig.refused == ["combined.unrouted"]
    assert "resources/read" not in greedy.methods()


@pytest.mark.requirement("S9")
def test_a_uri_that_two_servers_list_is_noted_also_when_nobody_asked_for_a_list() -> None:
    rig = Rig({name: _server(resources=items("x:1", key="uri")) for name in "ab"})
    asyncio.run(rig.ask("resources/read", {"uri": "x:1"}))
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("b", "combined.same_uri")]


# --- completion ------------------------------------------------------------------------------------------------------


def test_a_completion_goes_where_its_prompt_or_template_is_from() -> None:
    a = _server(prompts=items("p"), resources=items("x:1", key="uri"))
    b = _server(resources_templates=items("db://{t}", key="uriTemplate"))
    rig = Rig({"a": a, "b": b})

    def complete(**reference: str) -> Json:
        argument = {"name": "t", "value": "v"}
        return asyncio.run(rig.ask("completion/complete", {"ref": reference, "argument": argument}))

    assert _got(complete(type="ref/prompt", name="a__p"))["ref"] == {"type": "ref/prompt", "name": "p"}
    assert _got(complete(type="ref/resource", uri="db://{t}"))["ref"] == {"type": "ref/resource", "uri": "db://{t}"}
    assert _got(complete(type="ref/resource", uri="x:1"))["ref"] == {"type": "ref/resource", "uri": "x:1"}
    assert [server.methods().count("completion/complete") for server in (a, b)] == [2, 1]
    assert "No server has listed" in _refusal(complete(type="ref/resource", uri="no:{t}"))
    assert "There is no prompt" in _refusal(complete(type="ref/prompt", name="a__q"))
    assert "params.ref.uri" in _refusal(complete(type="ref/resource"))


def test_a_template_that_two_servers_list_is_the_firsts_and_noted() -> None:
    a, b = (_server(resources_templates=items("db://{t}", key="uriTemplate")) for _ in "ab")
    rig = Rig({"a": a, "b": b})
    reference = {"type": "ref/resource", "uri": "db://{t}"}
    asyncio.run(rig.ask("completion/complete", {"ref": reference, "argument": {"name": "t", "value": "v"}}))
    assert ("completion/complete" in a.methods(), "completion/complete" in b.methods()) == (True, False)
    assert [(server, rule) for server, rule, _ in rig.diagnosed] == [("b", "combined.same_uri")]


@pytest.mark.requirement("F8")
def test_a_plain_name_beyond_what_is_kept_is_its_servers_to_judge_and_is_not_listed_for_each_call() -> None:
    names = [f"t{number:06}" for number in range(40_000)]
    server, other = _server(tools=items(*names, "with space")), _server(tools=items("t"))
    rig = Rig({"a": server, "b": other})

    async def ask() -> None:
        for _ in range(3):
            for name in (names[-1], "never-listed"):
                assert _got(await rig.ask("tools/call", {"name": f"a__{name}"})) == {"name": name}
        assert _got(await rig.ask("tools/call", {"name": "b__t"})) == {"name": "t"}
        assert "There is no tool" in _refusal(await rig.ask("tools/call", {"name": "b__never-listed"}))
        assert "There is no tool" in _refusal(await rig.ask("tools/call", {"name": public_name("a", "with space")}))

    asyncio.run(ask())
    assert server.methods().count("tools/list") == 1
