"""Bytes: whatever JSON a tool answers with, a result that passes leaves as it came (004-3)."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.contracts.cases import call_message
from tests.contracts.judged import structured
from tests.contracts.rig import ROUTES, Gateway, Route, rig
from tests.stubs.run import Stub, answer, tool, write_stub

# What each transport cannot carry inside one message: a line ends at a newline, an SSE field at a carriage return.
WHITESPACE = {"wrap": " \t", "stdio": " \t", "http-json": " \t\r\n", "http-sse": " \t\n"}
OBJECT = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


class Running(NamedTuple):
    gateway: Gateway
    stub: Stub
    route: Route


@pytest.fixture(scope="module", params=ROUTES)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("fidelity")
    echo = {"type": "object", "properties": {"result": {"type": "string"}}}
    tools = [tool("free", echo), tool("judged", echo, OBJECT)]
    stub = write_stub(folder, tools=tools, answers={"free": answer("{}", "echo"), "judged": answer("{}", "echo")})
    strict = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
    with rig(request.param, stub, folder, strict) as gateway:
        yield Running(gateway, stub, request.param)


def answered(running: Running, name: str, result: str) -> bytes:
    """What the client gets when the tool answers with this text; the envelope before the result taken off."""
    number = running.gateway.next_id()
    arguments = json.dumps({"result": result}).encode()
    raw = running.gateway.exchange(call_message(number, name, arguments, is_modern=False)).raw
    head = b'{"jsonrpc":"2.0","id":%d,"result":' % number
    assert raw.startswith(head)
    return raw[len(head) : -1]


def arriving(result: str, route: Route) -> bytes:
    """The result as it was sent; in an event without what some readers take for line ends (004-3's one exception)."""
    if route == "http-sse":
        for character in "\u0085\u2028\u2029":
            result = result.replace(character, f"\\u{ord(character):04x}")
    return result.encode()


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters='"\\') | st.sampled_from(
    list('"\\/é😀\u0085\u2028\u2029')
)


def spell(character: str) -> st.SearchStrategy[str]:
    """Every way in which JSON lets one character be written."""
    ways = {'"': ['\\"'], "\\": ["\\\\"], "/": ["/", "\\/"], "\n": ["\\n"], "\t": ["\\t"]}.get(character)
    units = character.encode("utf-16-be")
    escaped = "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))
    plain = ways or ([character] if character >= " " and character != "\x7f" else [])
    return st.sampled_from([*plain, escaped])


TEXTS = st.lists(CHARACTERS, max_size=6).flatmap(lambda letters: st.tuples(*map(spell, letters))).map("".join)
STRINGS = TEXTS.map(lambda text: f'"{text}"') | st.sampled_from(['"\\ud83d"', '"\\udc00x"'])
NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?\Z")
SCALARS = STRINGS | NUMBERS | st.sampled_from(["true", "false", "null"])


def documents(blanks: str) -> st.SearchStrategy[str]:
    """JSON text in any spelling: whitespace anywhere, keys in any order and more than once."""
    gap = st.text(blanks, max_size=2)

    def containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        item = st.tuples(gap, inner, gap).map("".join)
        member = st.tuples(gap, STRINGS, gap, st.just(":"), item).map("".join)
        lists = st.lists(item, max_size=4).map(lambda items: f"[{','.join(items)}]")
        return lists | st.lists(member, max_size=4).map(lambda members: f"{{{','.join(members)}}}")

    return st.recursive(SCALARS, containers, max_leaves=12)


@pytest.mark.requirement("004-3")
@pytest.mark.requirement("004-14")
@pytest.mark.requirement("D20")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@example(data=None)
def test_any_content_leaves_as_it_came(running: Running, data: st.DataObject | None) -> None:
    content = "[" * 900 + "]" * 900
    if data is not None:
        content = data.draw(documents(WHITESPACE[running.route]))
    result = f'{{"content": {content} ,"structuredContent":{{"total":1}}}}'
    assert answered(running, "judged", result) == arriving(result, running.route)


def judged_objects(blanks: str) -> st.SearchStrategy[str]:
    """Objects that the schema accepts, each key once, in any spelling."""
    gap = st.text(blanks, max_size=2)
    names = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=4)
    value = st.tuples(gap, st.one_of(NUMBERS, TEXTS.map('"{}"'.format)), gap).map("".join)
    total = st.sampled_from(["1", "-0", "1.0", "1e2", "9007199254740993", "123456789012345678901234567890"])

    def members(keys: list[str]) -> st.SearchStrategy[str]:
        each = [st.tuples(st.just(f'"{key}":'), value).map("".join) for key in keys]
        last = total.map('"total" :{}'.format)
        return st.tuples(*each, last).flatmap(st.permutations).map(",".join).map("{{{}}}".format)

    return names.flatmap(members)


@pytest.mark.requirement("004-3")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_structured_content_that_conforms_leaves_as_it_came(running: Running, data: st.DataObject) -> None:
    result = structured(
        data.draw(judged_objects(WHITESPACE[running.route])), data.draw(st.sampled_from(["", ',"a":{}']))
    )
    assert answered(running, "judged", result) == arriving(result, running.route)


@pytest.mark.requirement("004-3")
@pytest.mark.requirement("004-7")
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_without_a_schema_any_structured_content_leaves_as_it_came(running: Running, data: st.DataObject) -> None:
    result = structured(data.draw(documents(WHITESPACE[running.route])))
    assert answered(running, "free", result) == arriving(result, running.route)
