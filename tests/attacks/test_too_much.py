"""Messages with more in them than is read: refused in one line and on record, on every route."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from handfast.core.bounds import MOST_MEMBERS, MOST_VALUES
from tests.contracts.rig import MODERN_META, ROUTES, Answer, Gateway, HttpGateway, Json, Route, WrapGateway, rig
from tests.gateway.running import TEXT, eventually, read_records, running, stdio
from tests.stubs.run import Stub, answer, tool, write_stub

Place = Route | Literal["combined", "compact"]
PLACES: tuple[Place, ...] = (*ROUTES, "combined", "compact")
OPEN = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}
FLAT = {"type": "object", "properties": {"a": {}}}
MANY = b",".join(b'"k%d":{}' % number for number in range(MOST_MEMBERS + 1))
DEEP = b"[" * 100_000 + b"]" * 100_000
TOO_MANY_MEMBERS = "An object has more than 10000 members. Send fewer."
TOO_DEEP = "The text is nested more than 512 levels deep. Send it flatter."
WORDS = b"word, word: [word] {word} " * 200_000  # five megabytes with a million marks, all of them in one string


class Here(NamedTuple):
    gateway: Gateway
    stub: Stub
    place: Place

    def call(self, name: str, arguments: bytes = b"{}") -> Answer:
        if self.place == "combined":
            return self.gateway.call(f"up__{name}", arguments)
        if self.place == "compact":
            return self.gateway.call("up", b'{"action":"%b","arguments":%b}' % (name.encode(), arguments))
        return self.gateway.call(name, arguments)

    def list_with(self, params: bytes) -> Answer:
        """A request with more than it needs, sent without the rig looking into it."""
        number = self.gateway.next_id()
        meta = b'"_meta":' + json.dumps(MODERN_META).encode() if self.gateway.is_modern else b'"_meta":{}'
        plain = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%b}}' % (number, meta)
        sent = plain.replace(b'"_meta"', params + b',"_meta"', 1)
        if isinstance(self.gateway, HttpGateway):
            return self.gateway.post(sent, self.gateway.headers(plain))
        assert isinstance(self.gateway, WrapGateway)
        self.gateway.send(sent)
        return self.gateway.answer_to(number)


@contextmanager
def placed(
    place: Place, stub: Stub, folder: Path, *, is_modern: bool, server: Json = None, **settings: Json
) -> Iterator[Here]:
    if place in ROUTES:
        with rig(place, stub, folder, settings, server=server, is_modern=is_modern) as gateway:
            yield Here(gateway, stub, place)
        return
    block = {"surface": "compact"} if place == "compact" else {}
    with running({"up": stdio(stub, handfast={**(server or {}), **block})}, folder, **settings) as serving:
        client = serving.client(is_modern=is_modern, opens=False)
        if place == "combined":
            client.path = "/mcp"
        client.open()
        yield Here(client, stub, place)


ANSWERS = {
    "fine": answer(TEXT),
    "members": answer(b"{%b}" % MANY),
    "levels": answer(b'{"content":[],"structuredContent":%b}' % DEEP),
    "levels_before_id": answer(message=b'{"jsonrpc":"2.0","result":{"x":%b},"id":$ID}'.replace(b"%b", DEEP)),
    "list": answer(b"[%b0]" % (b"0," * 2_000_000)),
    "words": answer(b'{"content":[{"type":"text","text":"%b"}]}' % WORDS),
    "rows": answer(
        b'{"content":[],"structuredContent":{"rows":[%b]}}' % b",".join([b'{"a":1,"b":2,"c":3,"d":4,"e":5}'] * 100_000)
    ),
    "babble": answer(
        TEXT,
        aside=b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info",%b}}' % MANY,
    ),
}
ROWS = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object"}}}}
TOOLS = [tool(name, OPEN, ROWS if name == "rows" else None) for name in ANSWERS] + [tool("flat", FLAT, None)]


@pytest.fixture(scope="module", params=["legacy", "modern"])
def is_modern(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "modern")


@pytest.fixture(scope="module", params=PLACES)
def here(request: pytest.FixtureRequest, is_modern: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("much")
    stub = write_stub(folder, tools=TOOLS, answers=ANSWERS)
    with placed(request.param, stub, folder, is_modern=is_modern) as found:
        found.gateway.list_tools()
        yield found


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    ("params", "reason"),
    [(MANY, TOO_MANY_MEMBERS), (b'"x":%b' % DEEP, TOO_DEEP), (b'"s":"\\ud800","x":%b' % DEEP, TOO_DEEP)],
    ids=["members", "levels", "levels and surrogate"],
)
def test_a_request_over_a_bound_is_refused_and_on_record(here: Here, params: bytes, reason: str) -> None:
    refused = here.list_with(params)
    assert "error" in refused.message
    assert refused.text.endswith(reason)

    def is_on_record() -> bool:
        return any(record.reason.endswith(reason) for record in read_records(here.gateway.state, type="diagnostic"))

    eventually(is_on_record, "a record of the refusal")
    assert here.call("fine").text == "fine"


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (b"{%b}" % MANY, "The arguments have more than 10000 fields. Send fewer at a time and call again."),
        (
            b'{"a":[%b0]}' % (b"0," * MOST_VALUES),
            "The arguments hold more than 100000 values. Send fewer at a time and call again.",
        ),
    ],
    ids=["fields", "values"],
)
def test_a_call_over_a_bound_reaches_no_tool_and_is_on_record(here: Here, arguments: bytes, reason: str) -> None:
    before = len(here.stub.journal.calls("fine"))
    refused = here.call("fine", arguments)
    assert refused.is_error
    assert refused.text.splitlines()[0] in (reason, TOO_MANY_MEMBERS)
    assert len(here.stub.journal.calls("fine")) == before
    blocked = eventually(lambda: read_records(here.gateway.state, rule="arguments.bounds"), "a record of the refusal")
    assert {record.status for record in blocked} == {"blocked"}


@pytest.mark.requirement("F4")
def test_ten_of_ten_thousand_offenders_are_worded(here: Here) -> None:
    refused = here.call("flat", b"{%b}" % b",".join(b'"k%d":{}' % number for number in range(MOST_MEMBERS)))
    lines = refused.text.splitlines()
    assert lines[9:11] == [
        "Argument 'k9' is not a declared field and its value is a nested object.",
        "So are 9990 more.",
    ]
    assert len(lines) == 23


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("name", ["members", "levels", "levels_before_id"])
def test_an_answer_over_a_bound_fails_its_call_clearly(here: Here, name: str) -> None:
    refused = here.call(name)
    assert refused.is_error
    assert TOO_MANY_MEMBERS in refused.text or TOO_DEEP in refused.text
    (record,) = eventually(lambda: read_records(here.gateway.state, type="tool_call", tool=name), "the call's record")
    assert record.status in ("error", "blocked")
    assert here.call("fine").text == "fine"


@pytest.mark.requirement("F4")
def test_what_is_large_in_itself_passes(here: Here) -> None:
    assert here.call("words").text == WORDS.decode()
    assert len(here.call("rows").result["structuredContent"]["rows"]) == 100_000
    written = here.call("fine", b'{"a":"%b"}' % WORDS[:3_000_000])
    assert written.text == "fine"


@pytest.mark.requirement("F4")
def test_a_notification_over_a_bound_goes_nowhere_and_its_call_goes_on(here: Here) -> None:
    assert here.call("babble").text == "fine"
    assert not any(len(stray) > 100_000 for stray in here.gateway.strays)


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("place", PLACES)
def test_tools_beyond_the_bound_are_not_offered_not_callable_and_on_record(place: Place, tmp_path: Path) -> None:
    tools = [tool(f"t{number}", OPEN, None) for number in range(30)]
    stub = write_stub(tmp_path, tools=tools, answers={f"t{number}": answer(TEXT) for number in range(30)})
    settings = {"limits": {"tools_per_server": 20}, "input_validation": {"mode": "strict"}}
    with placed(place, stub, tmp_path, is_modern=False, **settings) as here:
        listed = here.gateway.list_tools()
        if place != "compact":
            offered = [entry["name"].removeprefix("up__") for entry in listed]
            assert offered == [f"t{number}" for number in range(20)]
        assert "t20" not in json.dumps(listed)
        assert here.call("t19").text == "fine"
        assert here.call("t20").is_error
        assert stub.journal.calls("t20") == []
        (record,) = eventually(
            lambda: read_records(here.gateway.state, rule="contract.too_many")[:1], "a record of what is left out"
        )
        assert "more than 20 tools" in record.reason


@pytest.mark.requirement("F4")
def test_a_paged_list_ends_at_the_bound(tmp_path: Path) -> None:
    tools = [tool(f"t{number}", OPEN, None) for number in range(30)]
    stub = write_stub(tmp_path, pages=[tools[start : start + 8] for start in range(0, 30, 8)])
    with running({"up": stdio(stub)}, tmp_path, limits={"tools_per_server": 20}) as serving:
        client = serving.client()
        names: list[str] = []
        cursor: Json = {}
        while cursor is not None:
            page = client.request("tools/list", cursor).result
            names += [entry["name"] for entry in page["tools"]]
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    assert names == [f"t{number}" for number in range(20)]


LONG = {"type": "object", "description": "x" * 3000}
TOO_LONG = "The server's answer is over the limit of 20000 bytes and was dropped. Ask for less at a time."


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("place", [place for place in PLACES if place != "wrap"])
def test_a_page_of_a_list_over_its_bound_is_not_read(place: Place, tmp_path: Path, is_modern: bool) -> None:
    """Calls of such a server cannot be judged, so strict refuses them; its results have the room of every message."""
    tools = [tool(f"t{number}", LONG) for number in range(10)]
    stub = write_stub(
        tmp_path, tools=tools, answers={"t1": answer({"content": [{"type": "text", "text": "y" * 50_000}]})}
    )
    settings: Json = {"limits": {"list_bytes": 20_000, "learn_timeout_s": 1}}
    with placed(place, stub, tmp_path, is_modern=is_modern, **settings) as here:
        listed = here.gateway.request("tools/list").message
        if place == "combined":
            assert listed["result"]["tools"] == []
            assert "over the limit of 20000 bytes" in listed["result"]["_meta"]["handfast/unavailable"]["up"]
        elif place != "compact":
            assert "20000 bytes" in listed["error"]["message"]
        if place != "compact":
            assert len(here.call("t1").raw) > 50_000


def test_the_gateway_used_here_speaks_http_where_it_should(here: Here) -> None:
    assert isinstance(here.gateway, HttpGateway) == (here.place != "wrap")
