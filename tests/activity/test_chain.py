"""The byte format is pinned, and every way of tampering with a chain is noticed."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from handfast.activity.chain import (
    GENESIS,
    BrokenLink,
    ChainWalk,
    Head,
    Link,
    canonical_text,
    hash_text,
    link_record,
    payload_of,
    walk_chain,
)
from handfast.core.exchange import Detail, Record, RecordType, Status

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


def chain_of(count: int, *, start: Head | None = None) -> list[Link]:
    head, links = start or Head(), []
    for number in range(count):
        links.append(link_record(replace(RECORD, id=f"id-{head.seq + 1}", reason=f"number {number}"), head))
        head = Head(links[-1].seq, links[-1].hash)
    return links


def head_of(links: list[Link]) -> Head:
    return Head(links[-1].seq, links[-1].hash)


def outcome(links: list[Link], head: Head, noted: str = "") -> ChainWalk:
    return list(walk_chain(links, head, noted=noted))[-1]


def pruned(seq: int, last_hash: str, after: Head) -> Link:
    record = replace(RECORD, id="pruned", type=RecordType.DIAGNOSTIC, rule="activity.pruned")
    return link_record(replace(record, details={"count": 1, "through_seq": seq, "last_hash": last_hash}), after)


def test_an_untouched_chain_is_intact() -> None:
    links = chain_of(5)
    assert outcome(links, head_of(links)) == ChainWalk(5, 1, head_of(links), None, None)


def test_an_empty_chain_is_intact() -> None:
    assert outcome([], Head()) == ChainWalk(0, 0, Head(), None, None)


@given(place=st.integers(0, 4), damage=st.sampled_from(["payload", "hash", "seq", "indexed"]))
def test_any_changed_field_of_any_record_is_named(place: int, damage: str) -> None:
    links = chain_of(5)
    head = head_of(links)
    link = links[place]
    links[place] = {
        "payload": replace(link, payload=link.payload.replace("number", "digits")),
        "hash": replace(link, hash="f" * 64),
        "seq": replace(link, seq=link.seq + 100),
        "indexed": replace(link, indexed=("id-x", *link.indexed[1:])),
    }[damage]
    broken = outcome(links, head).broken
    assert broken is not None
    assert broken.seq == links[place].seq


def test_a_rewritten_record_with_a_fresh_hash_breaks_the_link_after_it() -> None:
    links = chain_of(3)
    forged = link_record(replace(RECORD, id="id-2", reason="forged"), Head(1, links[0].hash))
    found = outcome([links[0], forged, links[2]], head_of(links))
    assert found.broken == BrokenLink(3, "id-3", "it does not follow the record before it")


def test_a_record_taken_out_of_the_middle_is_missed() -> None:
    links = chain_of(4)
    found = outcome([links[0], *links[2:]], head_of(links))
    assert found.broken == BrokenLink(3, "id-3", "1 records are missing before it")


@pytest.mark.requirement("P5")
def test_a_deleted_tail_is_missed() -> None:
    links = chain_of(4)
    found = outcome(links[:2], head_of(links))
    assert found.broken == BrokenLink(3, "", "2 records are missing at the end")


def test_a_whole_deleted_chain_is_missed() -> None:
    assert outcome([], head_of(chain_of(4))).broken == BrokenLink(1, "", "4 records are missing at the end")


def test_a_front_deleted_without_a_retention_record_is_missed() -> None:
    links = chain_of(4)
    found = outcome(links[1:], head_of(links))
    problem = "the records before it are gone and no retention record accounts for it"
    assert found.broken == BrokenLink(2, "id-2", problem)


@pytest.mark.requirement("P5")
def test_a_front_removed_by_retention_is_accepted() -> None:
    links = chain_of(4)
    links.append(pruned(2, links[1].hash, head_of(links)))
    assert outcome(links[2:], head_of(links)) == ChainWalk(3, 3, head_of(links), None, None)


@pytest.mark.parametrize("first_kept", [1, 3])
def test_a_retention_record_accounts_for_exactly_what_it_names(first_kept: int) -> None:
    links = chain_of(4)
    links.append(pruned(2, links[1].hash, head_of(links)))
    assert outcome(links[first_kept:], head_of(links)).broken is not None


def test_a_retention_record_with_another_hash_accounts_for_nothing() -> None:
    links = chain_of(4)
    links.append(pruned(2, "f" * 64, head_of(links)))
    assert outcome(links[2:], head_of(links)).broken is not None


def test_a_noted_head_is_found_where_the_chain_stood_then() -> None:
    links = chain_of(4)
    assert outcome(links, head_of(links), noted=links[1].hash).noted_seq == 2
    assert outcome(links, head_of(links), noted="f" * 64).noted_seq is None
    assert outcome(links, head_of(links), noted=GENESIS).noted_seq == 0
