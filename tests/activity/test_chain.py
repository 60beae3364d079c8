"""The byte format is pinned: what is hashed never changes, however it is written."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from handfast.activity.chain import INDEXED, Head, canonical_text, hash_text, link_record, payload_of
from handfast.core.call.exchange import Detail, Record, RecordType, Status

RECORD = Record(
    id="0193b1f0a0000001c0ffee",
    time="2026-03-01T12:00:00.000001Z",
    type=RecordType.POLICY_DECISION,
    status=Status.BLOCKED,
    server="files",
    tool="read_file",
    mode="strict",
    rule="result.schema",
    reason="'größe' must be a number.",
    request_id="r-1",
    duration_ms=1.5,
    actor="ada",
    details={"bytes": 120, "keys": ["a", "b"], "is_error": False, "note": None},
)
GOLDEN_TEXT = (
    '{"actor": "ada", "details": {"bytes": 120, "is_error": false, "keys": ["a", "b"], "note": null}, '
    '"duration_ms": 1.5, "id": "0193b1f0a0000001c0ffee", "mode": "strict", "previous": "'
    + "0"
    * 64
    + '", "reason": "\'gr\\u00f6\\u00dfe\' must be a number.", "request_id": "r-1", "rule": "result.schema", '
    '"seq": 1, "server": "files", "status": "blocked", "time": "2026-03-01T12:00:00.000001Z", '
    '"tool": "read_file", "type": "policy_decision"}'
)
GOLDEN_SHA256 = "ecf1a22f9cfbfa62c8598085437d597ec2760190aa3dba804ef445d52a48ca79"


@pytest.mark.requirement("001-9")
def test_the_hashed_bytes_never_change() -> None:
    assert link_record(RECORD, Head()).payload.encode() == GOLDEN_TEXT.encode()


@pytest.mark.requirement("001-9")
def test_the_hash_of_the_golden_record_never_changes() -> None:
    assert link_record(RECORD, Head()).hash == GOLDEN_SHA256


@pytest.mark.parametrize("reason", ["why", "weil größer"], ids=["written quickly", "written by json"])
def test_every_field_of_a_record_is_hashed_and_keeps_its_own_value(reason: str) -> None:
    # Fields that are added later are among these: their values are their names.
    texts = {name: name for name, kind in Record.__annotations__.items() if kind is str}
    record = replace(RECORD, **texts | {"reason": reason})
    place = {"seq": 7, "previous": "f" * 64}
    assert json.loads(link_record(record, Head(6, "f" * 64)).payload) == asdict(record) | place


def test_a_record_has_only_fields_that_both_encoders_write_alike() -> None:
    others = {name for name, kind in Record.__annotations__.items() if kind not in (str, RecordType, Status)}
    assert others == {"duration_ms", "details"}, "what else is no text must be looked at in _is_plain"


def test_what_a_store_searches_by_is_plain_text() -> None:
    indexed = link_record(RECORD, Head()).indexed
    assert indexed == tuple(getattr(RECORD, name) for name in INDEXED)
    assert {type(text) for text in indexed} == {str}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)


@pytest.mark.requirement("001-9")
@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_what_is_hashed_is_exactly_what_json_dumps_gives(payload: dict[str, object]) -> None:
    assert canonical_text(payload) == json.dumps(payload, sort_keys=True, ensure_ascii=True, default=str)


plain_text = st.text(st.characters(max_codepoint=0x7E), max_size=5)
any_text = plain_text | st.text(st.characters(codec=None), max_size=5) | st.just("\x7f")
numbers = st.integers() | st.floats() | st.sampled_from([0.001, 0.0001, 0.00001, 1e15, 1e16, -0.0, 2**64, True])
durations = st.none() | numbers | st.floats(min_value=0, max_value=1e6).map(lambda value: round(value, 3))
odd_values = st.binary() | st.dates() | st.decimals() | st.just(Status.BLOCKED)
records = {"type": st.sampled_from(RecordType), "status": st.sampled_from(Status), "id": plain_text, "time": plain_text}


@pytest.mark.requirement("001-9")
@given(
    # Texts of all kinds; or numbers and values of all kinds, which only stand out where every text is plain.
    st.builds(Record, **records, tool=any_text, reason=any_text, details=st.dictionaries(any_text, any_text))
    | st.builds(Record, **records, duration_ms=durations)
    | st.builds(Record, **records, details=st.dictionaries(plain_text, numbers | odd_values | st.none(), max_size=3))
    | st.builds(Record, **records, details=st.dictionaries(plain_text, st.lists(plain_text | numbers | odd_values))),
    st.integers(min_value=0, max_value=2**64),
)
@example(replace(RECORD, reason="", details={"b": 1, "a": [], "c": "x"}), 1)
@example(replace(RECORD, reason="half of \ud83d"), 1)
@example(replace(RECORD, reason="", duration_ms=1e16), 1)
@example(replace(RECORD, reason="", duration_ms=1e-5), 1)
@example(replace(RECORD, reason="", duration_ms=float("inf")), 1)
def test_a_record_is_written_as_json_dumps_writes_it_whatever_it_holds(record: Record, seq: int) -> None:
    head = Head(seq)
    expected = json.dumps(payload_of(record, head), sort_keys=True, ensure_ascii=True, default=str)
    assert link_record(record, head).payload == expected


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False) | st.lists(st.text())))
def test_a_payload_parsed_and_written_again_hashes_the_same(details: dict[str, Detail]) -> None:
    link = link_record(replace(RECORD, details=details), Head())
    assert hash_text(canonical_text(json.loads(link.payload))) == link.hash


def test_a_record_that_json_cannot_carry_is_kept_without_its_details() -> None:
    loop: list[str] = []
    loop.append(loop)  # type: ignore[arg-type] # a value no type checker would let through
    link = link_record(replace(RECORD, details={"loop": loop}), Head())
    assert json.loads(link.payload)["details"] == {"unencodable": True}
