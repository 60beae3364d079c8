"""Large results in pieces: together the whole, each as it is published, and for nobody but their caller."""

import asyncio
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.core.answers.outcome import Failed, Succeeded
from handfast.toolkit import Actor, Answer, Args, ContractError, CutResult, MemoryResults, Toolbox, ok, read_tool
from handfast.toolkit.writing.pages import Page, PaginationMeta, Paging
from handfast.toolkit.writing.reply import Notice
from tests.toolkit.directory import Contact, contact, make_toolbox
from tests.toolkit.records import Kept

ADA, EVE = Actor(id="ada"), Actor(id="eve")
ENVELOPES = ("plain", "result", "status")


def failure(answer: Answer) -> Failed:
    assert isinstance(answer.outcome, Failed)
    return answer.outcome


def data(answer: Answer) -> Any:
    assert isinstance(answer.outcome, Succeeded), answer.outcome
    return answer.outcome.data


def schema_of(tools: Toolbox, name: str) -> jsonschema_rs.Validator:
    (tool,) = [tool for tool in tools.registry.published() if tool["name"] == name]
    return jsonschema_rs.validator_for(json.dumps(tool["outputSchema"]))


async def walk(tools: Toolbox, name: str, arguments: dict[str, Any], *, actor: Any = None) -> list[Any]:
    """Every piece, first to last, each held to what is published."""
    schema = schema_of(tools, name)
    pieces: list[Any] = []
    answer = await tools.dispatch(name, arguments, actor=actor)
    while True:
        assert schema.is_valid(answer.payload)
        assert json.loads(answer.text) == answer.payload
        pieces.append(data(answer))
        assert pieces[-1]["piece"]["number"] == len(pieces)
        token = pieces[-1]["piece"]["continuation_token"]
        if token is None:
            assert answer.blocks == ()
            return pieces
        (notice,) = answer.blocks
        assert json.dumps({"continuation_token": token}, separators=(",", ":")) in notice.model_dump()["text"]
        answer = await tools.dispatch(name, {"continuation_token": token}, actor=actor)


# --- the pieces are the whole --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers() | st.text(max_size=60) | st.none(), max_size=60), st.integers(256, 900))
def test_all_pieces_of_a_list_are_the_list(items: list[Any], piece_bytes: int) -> None:
    tools = Toolbox("t")

    @tools.read(in_pieces=True, piece_bytes=piece_bytes)
    async def give() -> list[int | str | None]:
        """Give it."""
        return items

    async def session() -> None:
        whole = await tools.dispatch("give", {"mode": "full"})
        assert data(whole) == items
        if len(json.dumps(items, ensure_ascii=False, separators=(",", ":")).encode()) <= piece_bytes:
            assert (await tools.dispatch("give", {})).payload == whole.payload
            return
        pieces = await walk(tools, "give", {})
        assert [item for piece in pieces for item in piece["items"]] == items
        about = [(piece["piece"]["number"], piece["piece"]["of"], piece["piece"]["total_items"]) for piece in pieces]
        assert about == [(number + 1, len(pieces), len(items)) for number in range(len(pieces))]

    asyncio.run(session())


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=20), st.integers(256, 900))
def test_all_pieces_of_another_result_are_its_json(lines: dict[str, str], piece_bytes: int) -> None:
    tools = Toolbox("t")

    @tools.read(in_pieces=True, piece_bytes=piece_bytes)
    async def give() -> dict[str, str]:
        """Give it."""
        return lines

    text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))

    async def session() -> None:
        whole = await tools.dispatch("give", {"mode": "full"})
        assert whole.payload == lines
        if len(text.encode()) <= piece_bytes:
            assert (await tools.dispatch("give", {})).payload == lines
            return
        pieces = await walk(tools, "give", {})
        assert "".join(piece["text"] for piece in pieces) == text
        assert all(len(piece["text"].encode()) <= piece_bytes for piece in pieces)

    asyncio.run(session())


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_a_list_a_page_and_another_result_in_every_envelope(envelope: str) -> None:
    tools = make_toolbox(envelope, hides_tools=False)

    async def session() -> None:
        contacts = [contact(number).model_dump() for number in range(120)]
        pieces = await walk(tools, "list_contacts", {"count": 120}, actor=ADA)
        assert len(pieces) > 2
        assert [item for piece in pieces for item in piece["items"]] == contacts

        paged = await walk(tools, "page_contacts", {"count": 120, "offset": 10, "limit": 100})
        assert [item for piece in paged for item in piece["items"]] == contacts[10:110]
        assert all((p["total"], p["offset"], p["limit"]) == (120, 10, 100) for p in paged)

        texts = await walk(tools, "report", {"count": 50, "size": 100})
        assert json.loads("".join(piece["text"] for piece in texts)) == {
            "lines": {f"é{n}": "x" * 100 for n in range(50)}
        }
        small = await tools.dispatch("report", {"count": 1})
        assert data(small) == {"lines": {"é0": "x" * 10}}
        assert schema_of(tools, "report").is_valid(small.payload)

    asyncio.run(session())


def test_a_result_that_fits_is_as_it_always_was() -> None:
    answer = asyncio.run(make_toolbox().dispatch("list_contacts", {"count": 2}))
    assert answer.payload == {"result": [contact(0).model_dump(), contact(1).model_dump()]}
    assert answer.blocks == ()


def test_a_text_after_a_piece_says_how_to_go_on() -> None:
    answer = asyncio.run(make_toolbox().dispatch("list_contacts", {"count": 100}))
    about = data(answer)["piece"]
    token = about["continuation_token"]
    assert answer.blocks == (
        Notice(
            text=f"Piece 1 of {about['of']}. For the next call again with the arguments"
            f' {{"continuation_token":"{token}"}}.'
        ),
    )


def test_an_item_that_is_larger_than_a_piece_comes_alone() -> None:
    tools = make_toolbox(piece_bytes=300, hides_tools=False)
    pieces = asyncio.run(walk(tools, "list_contacts", {"count": 4, "size": 1000}))
    assert [len(piece["items"]) for piece in pieces] == [1, 1, 1, 1]


def test_mode_full_gives_the_whole_up_to_the_limit_of_every_result() -> None:
    async def session() -> None:
        tools = make_toolbox()
        full = await tools.dispatch("list_contacts", {"count": 500, "mode": "full"})
        assert full.payload == {"result": [contact(number).model_dump() for number in range(500)]}
        await tools.registry.close()

    asyncio.run(session())


@pytest.mark.parametrize("arguments", [{"mode": "full"}, {"mode": "pieces"}, {}])
def test_pieces_do_not_raise_the_limit_of_every_result(arguments: dict[str, Any]) -> None:
    tools = Toolbox("t")

    @tools.read(in_pieces=True)
    async def give() -> str:
        """Give too much."""
        return "x" * 6_000_000

    told = failure(asyncio.run(tools.dispatch("give", arguments)))
    assert told.code == "output_violation"
    assert "over the limit of 5242880" in told.message


def test_every_call_of_a_piece_is_on_record_as_a_call_of_its_tool() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept, hides_tools=False)
    pieces = asyncio.run(walk(tools, "list_contacts", {"count": 100}, actor=ADA))
    assert kept.told() == [("tool_call", "success", "list_contacts", "")] * len(pieces)
    assert [record.details["argument_keys"] for record in kept.records][:2] == [["count"], ["continuation_token"]]
    assert {record.actor for record in kept.records} == {"ada"}
    assert tools.registry.outcomes.of("list_contacts") == {"success": len(pieces)}


# --- the whole is judged -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"mode": "full"}, {"filter_keys": ["id"]}, {"page_size": 2}])
@pytest.mark.parametrize("odd", [{"id": "no number", "email": "e"}, {"id": 1}, {"id": 1, "email": "\ud800"}])
def test_one_bad_item_blocks_the_result_whatever_part_was_asked_for(odd: Any, arguments: dict[str, Any]) -> None:
    kept = Kept()
    tools = Toolbox("t", recorder=kept)

    @tools.read(in_pieces=True, piece_bytes=1000)
    async def give() -> list[Contact]:
        """Give it."""
        return [contact(number) for number in range(100)] + [odd]

    answer = asyncio.run(_dispatched(tools, "give", arguments))
    assert failure(answer).code == "output_violation"
    assert [told[:3] for told in kept.told()] == [
        ("policy_decision", "blocked", "give"),
        ("tool_call", "blocked", "give"),
    ]


async def _dispatched(tools: Toolbox, name: str, arguments: dict[str, Any]) -> Answer:
    try:
        return await tools.dispatch(name, arguments)
    finally:
        await tools.registry.close()


# --- tokens --------------------------------------------------------------------------------------------------------


def test_a_token_is_only_for_the_caller_the_tool_and_the_time_it_was_made_for() -> None:
    now = [0.0]
    kept = Kept()
    tools = make_toolbox(recorder=kept, results=MemoryResults(seconds=60, now=lambda: now[0]))

    async def session() -> None:
        first = data(await tools.dispatch("list_contacts", {"count": 100}, actor=ADA))
        token = first["piece"]["continuation_token"]
        key, _, number = token.rpartition(".")
        assert (len(key), number) == (32, "1")

        async def gone(token: str, *, tool: str = "list_contacts", actor: Any = ADA) -> None:
            told = failure(await tools.dispatch(tool, {"continuation_token": token}, actor=actor))
            assert (told.code, told.is_recoverable) == ("not_found", True)
            assert told.message == (
                "There is nothing to continue under this token: it is unknown, of another tool or caller, or too old."
                " Call again without continuation_token."
            )

        for actor in (EVE, None, Actor(name="eve"), Actor(id=" ")):
            await gone(token, actor=actor)
        await gone(token, tool="page_contacts")
        for wrong in (
            "",
            ".",
            ".1",
            key,
            f"{key}.",
            f"{key}.x",
            f"{key}.-1",
            f"{key}.99",
            f"{key}.٣",
            f"{key[:-1]}{'y' if key[-1] == 'x' else 'x'}.1",
        ):
            await gone(wrong)
        await gone(f"{key}.{'9' * 5000}")
        again = [data(await tools.dispatch("list_contacts", {"continuation_token": token}, actor=ADA)) for _ in "ab"]
        assert again[0] == again[1]  # an answer that got lost can be asked for once more
        assert again[0]["piece"]["number"] == 2
        now[0] = 60
        await gone(token)

    asyncio.run(session())
    assert ("tool_call", "error", "list_contacts", "") in kept.told()


def test_tokens_of_one_caller_are_never_the_same() -> None:
    tools = make_toolbox()

    async def session() -> set[str]:
        answers = [await tools.dispatch("list_contacts", {"count": 100}) for _ in range(20)]
        return {data(answer)["piece"]["continuation_token"] for answer in answers}

    assert len(asyncio.run(session())) == 20


def test_with_a_token_other_arguments_are_left_out_or_the_same_as_before() -> None:
    tools = make_toolbox()
    sent = {"count": 100, "filters": {"note": None}, "filter_keys": ["id"]}

    async def session() -> None:
        first = data(await tools.dispatch("list_contacts", {**sent, "size": 10, "page_size": 500}))
        assert first["piece"]["continuation_token"] is None  # narrowed, it fits
        first = data(await tools.dispatch("list_contacts", {**sent, "count": 2000}))
        token = first["piece"]["continuation_token"]
        same = {"continuation_token": token, **sent, "count": 2000}
        alone = data(await tools.dispatch("list_contacts", {"continuation_token": token}))
        assert data(await tools.dispatch("list_contacts", same)) == alone
        others: list[dict[str, Any]] = [{"count": 1999}, {"page": 1}, {"mode": "full"}, {"filters": {}}]
        for changed in others:
            told = failure(await tools.dispatch("list_contacts", {**same, **changed}))
            assert told.message == "The other arguments are not those of the first call. Send continuation_token alone."
        unknown = failure(await tools.dispatch("list_contacts", {**same, "bogus": 1}))
        assert unknown.message.startswith("Argument 'bogus' is not a declared field.")
        await tools.registry.close()

    asyncio.run(session())


def test_an_admin_tool_runs_once_for_all_of_its_pieces() -> None:
    kept = Kept()
    tools = Toolbox("t", recorder=kept)
    runs: list[str] = []

    class Which(Args):
        id: int

    @tools.admin(in_pieces=True, piece_bytes=300)
    async def purge(args: Which) -> list[str]:
        """Remove what is there."""
        runs.append("once")
        return ["x" * 100] * 10

    guarded = {"id": 1, "confirm": True, "reason": "asked to"}

    async def session() -> None:
        assert failure(await tools.dispatch("purge", {"id": 1, "mode": "full"}, actor=ADA)).code == "guardrail_violated"
        first = await tools.dispatch("purge", guarded, actor=ADA)
        token = data(first)["piece"]["continuation_token"]
        assert data(await tools.dispatch("purge", {"continuation_token": token}, actor=ADA))["piece"]["number"] == 2
        again = await tools.dispatch("purge", {"continuation_token": token, **guarded}, actor=ADA)
        assert data(again)["piece"]["number"] == 2

    asyncio.run(session())
    assert runs == ["once"]
    assert [record.type.value for record in kept.records].count("admin_operation") == 1


# --- narrowing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize(
    ("wishes", "items", "total"),
    [
        ({"filters": {"note": None}}, [{"id": n, "email": f"{n}@example.org", "note": None} for n in (0, 2, 4)], 3),
        ({"filters": {"id": 3}, "filter_keys": ["email"]}, [{"email": "3@example.org"}], 1),
        ({"filter_keys": ["id"], "page": 2, "page_size": 2}, [{"id": 2}, {"id": 3}], 5),
        ({"page": 9}, [], 5),
        ({"filter_keys": ["id"], "mode": "full"}, [{"id": n} for n in range(5)], 5),
    ],
)
def test_a_narrowed_answer_is_declared_too(wishes: Any, items: list[Any], total: int, envelope: str) -> None:
    tools = make_toolbox(envelope, hides_tools=False)
    answer = asyncio.run(tools.dispatch("list_contacts", {"count": 5, **wishes}))
    about = {"number": 1, "of": 1, "total_items": total, "continuation_token": None}
    assert data(answer) == {"items": items, "piece": about}
    assert schema_of(tools, "list_contacts").is_valid(answer.payload)
    paged = asyncio.run(tools.dispatch("page_contacts", {"count": 5, **wishes}))
    assert data(paged) == {"total": 5, "offset": 0, "limit": 50, "items": items, "piece": about}
    assert schema_of(tools, "page_contacts").is_valid(paged.payload)


# --- what an author says ---------------------------------------------------------------------------------------------


def test_a_toolbox_may_give_every_result_in_pieces_and_a_tool_may_not() -> None:
    tools = Toolbox("t", in_pieces=True, piece_bytes=256)

    @tools.read
    async def many() -> list[str]:
        """Give many."""
        return ["x" * 100] * 9

    @tools.read(in_pieces=False)
    async def whole() -> list[str]:
        """Give all."""
        return ["x" * 100] * 9

    tools.dispatcher("both", "Both.", actions=["many", "whole"])
    assert data(asyncio.run(tools.dispatch("many")))["piece"]["of"] == 5
    assert data(asyncio.run(tools.dispatch("whole"))) == ["x" * 100] * 9
    through = asyncio.run(tools.dispatch("both", {"action": "many"}))
    token = data(through)["piece"]["continuation_token"]
    second = asyncio.run(tools.dispatch("both", {"action": "many", "arguments": {"continuation_token": token}}))
    assert data(second)["piece"]["number"] == 2


def test_what_is_published_tells_how_to_go_on() -> None:
    tools = make_toolbox(hides_tools=False)
    found = {tool["name"]: tool for tool in tools.registry.published()}
    assert found["list_contacts"]["description"] == (
        "List contacts.\n\nA large result comes in pieces: while `piece.continuation_token` is not null, call again"
        " with that continuation_token alone for the next one. `filters`, `filter_keys`, `page` and `page_size` narrow"
        " it."
    )
    assert found["report"]["description"].endswith("for the next one.")
    assert set(found["list_contacts"]["inputSchema"]["properties"]) == {
        "count",
        "size",
        "filters",  # else a gateway takes them for a wrapped payload
        "continuation_token",
    }
    assert "filters" not in found["report"]["inputSchema"]["properties"]
    assert found["list_contacts"]["inputSchema"]["required"] == ["count"]
    assert "continuation_token" not in found["create_contact"]["inputSchema"]["properties"]


class Own(Args):
    continuation_token: str = ""


class WithPiece(Page[int]):
    piece: int = 1


def test_what_cannot_come_in_pieces_is_said_when_it_is_written() -> None:
    tools = Toolbox("t")

    async def own(args: Own) -> list[int]:
        """Has a token of its own."""
        return []

    async def with_piece() -> WithPiece:
        """Has a piece of its own."""
        raise AssertionError("never reached")

    async def fine() -> list[int]:
        """Is fine."""
        return []

    with pytest.raises(ContractError, match="'own' declares continuation_token itself"):
        tools.read(in_pieces=True)(own)
    with pytest.raises(ContractError, match="'with_piece' has a field 'piece' of its own"):
        tools.read(in_pieces=True)(with_piece)
    with pytest.raises(ContractError, match="The pieces of 'fine' are too small; give them 256 bytes or more"):
        tools.read(in_pieces=True, piece_bytes=255)(fine)


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_an_explicit_handler_gives_pieces_too(envelope: str) -> None:
    async def give(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return ok([{"id": n} for n in range(200)], pagination=PaginationMeta(total=999, offset=0, limit=200))

    array = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    whole = {"type": "object", "properties": {"items": array, "pagination": {"type": "object"}}}
    tools = Toolbox("t", envelope=envelope)
    schemas: dict[str, Any] = {"listed": array if envelope == "status" else whole, "anything": None}
    for name, schema in schemas.items():
        tools.add(
            read_tool(
                name, "Give.", args_model=Paging, handler=give, output_schema=schema, in_pieces=True, piece_bytes=500
            )
        )

    async def session() -> None:
        pieces = await walk(tools, "listed", {"limit": 200})
        assert [item["id"] for piece in pieces for item in piece["items"]] == list(range(200))
        first = await tools.dispatch("listed", {"limit": 200})
        assert first.payload is not None
        beside = first.payload if envelope != "result" else first.payload["data"]
        assert beside["pagination"] == {"total": 999, "offset": 0, "limit": 200}
        texts = await walk(tools, "anything", {})
        assert json.loads("".join(piece["text"] for piece in texts)) == [{"id": n} for n in range(200)]

    asyncio.run(session())


def test_results_may_be_kept_by_a_store_of_the_authors_own_and_its_failure_is_a_coded_error() -> None:
    class Elsewhere:
        def __init__(self) -> None:
            self.kept: dict[str, CutResult] = {}

        async def keep(self, key: str, kept: CutResult) -> None:
            if kept.owner == "eve":
                raise ConnectionError("no room for eve at 10.0.0.7")
            self.kept[key] = kept

        async def find(self, key: str) -> CutResult | None:
            return self.kept.get(key)

    store = Elsewhere()
    tools = make_toolbox(results=store, hides_tools=False)
    pieces = asyncio.run(walk(tools, "report", {"count": 100}, actor=ADA))
    assert len(pieces) > 1
    (kept,) = store.kept.values()
    assert (kept.owner, kept.tool, len(kept.pieces)) == ("ada", "report", len(pieces))
    lost = failure(asyncio.run(tools.dispatch("report", {"count": 100}, actor=EVE)))
    assert lost.code == "internal_error"
    assert "10.0.0.7" not in lost.message


def test_a_store_that_hangs_holds_nobody() -> None:
    class Hanging(MemoryResults):
        async def keep(self, key: str, kept: CutResult) -> None:
            await asyncio.Event().wait()

    tools = make_toolbox(results=Hanging(), timeout_s=0.2)
    assert failure(asyncio.run(tools.dispatch("report", {"count": 100}))).code == "internal_error"
