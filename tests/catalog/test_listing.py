"""tools/list answers read as contracts: exact bytes kept, one bad tool never loses its siblings."""

import asyncio
import json

import pytest

from handfast.catalog.contracts import ServerContracts
from handfast.catalog.listing import SLICE, ToolPage, ask_for_all
from handfast.catalog.listing import read_tool_page as read_tool_page_in_slices
from handfast.core.call.contract import ToolContract
from handfast.core.schema.compiled import SchemaBounds
from handfast.wire.message import Members, Message, read_level, read_message


def read_tool_page(result: Members, most: int = 10_000) -> ToolPage | None:
    return asyncio.run(read_tool_page_in_slices(result, most))


def members(text: str) -> Members:
    return read_level(text.encode())


@pytest.mark.requirement("004-1")
def test_both_schemas_are_kept_as_the_text_that_was_sent() -> None:
    page = read_tool_page(
        members(
            '{"tools":[{"name":"\\u0061","inputSchema":{ "type" :"object"},"outputSchema":{"type":"object","x":1.0},'
            '"annotations":{"readOnlyHint":true},"description":"d","extra":1}],"nextCursor":"p 2"}'
        )
    )
    assert page is not None
    assert page.contracts == [
        ToolContract(
            "a", b'{ "type" :"object"}', b'{"type":"object","x":1.0}', b'{"readOnlyHint":true}', description="d"
        )
    ]
    assert page.next_cursor == b'"p 2"'


@pytest.mark.parametrize(
    "bad",
    [
        '{"inputSchema":{}}',
        '{"name":1}',
        '{"name":"x","name":"y"}',
        '{"name":"x","outputSchema":{},"outputschema":{}}',
        '{"name":"\\ud800"}',
        "7",
        "null",
        "[]",
    ],
)
def test_a_tool_that_cannot_be_read_does_not_lose_its_siblings(bad: str) -> None:
    page = read_tool_page(members(f'{{"tools":[{{"name":"a"}},{bad},{{"name":"b"}}]}}'))
    assert page is not None
    assert [contract.name for contract in page.contracts] == ["a", "b"]


@pytest.mark.requirement("B5")
def test_half_a_character_in_a_description_costs_the_description_only() -> None:
    page = read_tool_page(
        members('{"tools":[{"name":"a","description":"cut \\ud83d","outputSchema":{}},{"name":"b"}]}')
    )
    assert page is not None
    assert page.contracts == [ToolContract("a", None, b"{}"), ToolContract("b", None, None)]


def test_null_schemas_and_cursors_are_absent() -> None:
    page = read_tool_page(members('{"tools":[{"name":"a","inputSchema":null,"outputSchema":null}],"nextCursor":null}'))
    assert page is not None
    assert (page.contracts, page.next_cursor) == ([ToolContract("a", None, None)], None)


@pytest.mark.parametrize("text", ["{}", '{"tools":{}}', '{"tools":null}', '{"tools":1}'])
def test_what_is_no_list_is_no_page(text: str) -> None:
    assert read_tool_page(members(text)) is None


class Server:
    """Answers with its pages, the cursor of each being its number."""

    def __init__(self, pages: list[list[str]], *, endless: bool = False, repeats: bool = False) -> None:
        self.pages = pages
        self.endless = endless
        self.repeats = repeats  # the same cursor, again and again
        self.asked: list[bytes | None] = []

    async def list_page(self, cursor: bytes | None) -> Message:
        self.asked.append(cursor)
        number = 0 if cursor is None or self.repeats else int(json.loads(cursor))
        names = self.pages[0 if self.endless else number]
        result: dict[str, object] = {"tools": [{"name": name} for name in names]}
        if self.endless or number + 1 < len(self.pages):
            result["nextCursor"] = str(number + 1)
        return read_message(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())


@pytest.mark.requirement("C3")
def test_every_page_is_asked_for_with_the_cursor_of_the_one_before() -> None:
    server, contracts = Server([["a"], ["b"], ["c"]]), ServerContracts(bounds=SchemaBounds())
    assert asyncio.run(ask_for_all(contracts, server.list_page))
    assert server.asked == [None, b'"1"', b'"2"']
    assert [contract.name for contract in contracts.all()] == ["a", "b", "c"]


def test_a_server_that_never_stops_paging_is_given_up() -> None:
    server, contracts = Server([["a"]], endless=True), ServerContracts(bounds=SchemaBounds())
    assert not asyncio.run(ask_for_all(contracts, server.list_page))
    assert len(server.asked) == 200


def test_a_cursor_that_repeats_itself_is_not_followed() -> None:
    server, contracts = Server([["a"]], endless=True, repeats=True), ServerContracts(bounds=SchemaBounds())
    assert not asyncio.run(ask_for_all(contracts, server.list_page))
    assert server.asked == [None, b'"1"']


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":1,"result":[]}',
        b'{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[]}}',
    ],
)
def test_an_answer_that_is_no_list_teaches_nothing(answer: bytes) -> None:
    async def list_page(_cursor: bytes | None) -> Message:
        return read_message(answer)

    contracts = ServerContracts([ToolContract("a", None, None)], bounds=SchemaBounds())
    assert not asyncio.run(ask_for_all(contracts, list_page))
    assert len(contracts) == 1
    assert not contracts.is_complete()


def tools(count: int) -> Members:
    return members('{"tools":[' + ",".join(f'{{"name":"t{number}"}}' for number in range(count)) + "]}")


@pytest.mark.requirement("F4")
def test_a_long_list_is_read_in_slices() -> None:
    """Counted in turns that others have while it is read."""

    async def turns(count: int) -> int:
        reading = asyncio.create_task(read_tool_page_in_slices(tools(count)))
        found = 0
        while not reading.done():
            await asyncio.sleep(0)
            found += 1
        return found

    assert asyncio.run(turns(SLICE - 1)) <= 2
    assert asyncio.run(turns(50 * SLICE)) >= 50


@pytest.mark.requirement("F4")
def test_tools_beyond_the_bound_are_not_read() -> None:
    page = read_tool_page(tools(1000), 10)
    assert page is not None
    assert ([contract.name for contract in page.contracts], page.is_whole) == ([f"t{n}" for n in range(10)], False)
    whole = read_tool_page(tools(10), 10)
    assert whole is not None
    assert (len(whole.contracts), whole.is_whole) == (10, True)


@pytest.mark.requirement("F4")
def test_what_is_offered_of_a_page_ends_before_the_first_tool_that_was_not_taken() -> None:
    page = read_tool_page(members('{"tools":[{"name":"a"},{"no":1},{"name":"b"},0,{"name":"c"}]}'))
    assert page is not None
    assert page.texts_of(2) == [b'{"name":"a"}', b'{"no":1}', b'{"name":"b"}', b"0"]
    assert page.texts_of(0) == []
    assert page.texts_of(3) == page.texts
