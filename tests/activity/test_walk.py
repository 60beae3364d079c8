"""A walk along the chain names what was changed, left out or put in, and accepts what retention removed."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from handfast.activity.chain import GENESIS, Head, Link, link_record
from handfast.activity.walk import BrokenLink, ChainWalk, Stretch, walk_chain
from handfast.core.call.exchange import Record, RecordType, Status

RECORD = Record(
    id="", time="2026-03-01T12:00:00.000001Z", type=RecordType.TOOL_CALL, status=Status.SUCCESS, server="files"
)


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


def thinned(links: list[Link], gone: set[int], **changes: object) -> tuple[list[Link], Stretch]:
    """The chain without these places, a note about them at its end, and the stretch they lay in."""
    first, last = min(gone), max(gone)
    inside = [link for link in links if first <= link.seq <= last]
    hashes = bytes.fromhex("".join(link.hash for link in inside if link.seq in gone))
    kept = "".join(link.hash for link in inside if link.seq not in gone)
    details = {
        "count": len(gone),
        "from_seq": first,
        "through_seq": last,
        "last_hash": inside[-1].hash,
        "removed_hash": sha256(hashes).hexdigest(),
        "kept_hash": sha256(kept.encode()).hexdigest(),
    }
    record = replace(RECORD, id="thinned", type=RecordType.DIAGNOSTIC, rule="activity.thinned")
    note = link_record(replace(record, details={**details, **changes}), head_of(links))
    left = [link for link in links if link.seq not in gone]
    return [*left, note], Stretch(first, last, inside[-1].hash, hashes)


def verdict(links: list[Link], *stretches: Stretch, noted: str = "") -> ChainWalk:
    return list(walk_chain(links, head_of(links), stretches, noted=noted))[-1]


@pytest.mark.requirement("F9")
@given(gone=st.sets(st.integers(1, 12), min_size=1))
def test_records_removed_from_between_others_are_accepted_with_their_note(gone: set[int]) -> None:
    links, stretch = thinned(chain_of(12), gone)
    assert verdict(links, stretch) == ChainWalk(13 - len(gone), 1, head_of(links), None, None, len(gone))


@pytest.mark.requirement("F9")
@given(gone=st.sets(st.integers(1, 12), min_size=1), data=st.data())
def test_nothing_else_can_be_removed_or_changed_under_the_cover_of_a_note(gone: set[int], data: st.DataObject) -> None:
    links, stretch = thinned(chain_of(12), gone)
    victim = data.draw(st.sampled_from(links[:-1] or [links[-1]]))
    rest = [link for link in links if link is not victim]
    place = sum(seq < victim.seq for seq in gone) * 32
    assert stretch.hashes is not None
    taken_in = stretch.hashes[:place] + bytes.fromhex(victim.hash) + stretch.hashes[place:]
    wider = replace(stretch, first=min(stretch.first, victim.seq), last=max(stretch.last, victim.seq))
    for hidden in (stretch, replace(wider, hashes=taken_in), replace(wider, hashes=None)):
        assert list(walk_chain(rest, head_of(links), [hidden]))[-1].broken is not None


@pytest.mark.requirement("F9")
@pytest.mark.parametrize(
    "change",
    [
        {"removed_hash": "f" * 64},
        {"kept_hash": "f" * 64},
        {"last_hash": "f" * 64},
        {"from_seq": 1},
        {"through_seq": 11},
    ],
)
def test_a_note_that_says_something_else_accounts_for_nothing(change: dict[str, object]) -> None:
    links, stretch = thinned(chain_of(12), {2, 3, 7}, **change)
    broken = verdict(links, stretch).broken
    assert broken is not None
    assert broken.seq == 2


@pytest.mark.requirement("F9")
def test_removed_records_without_a_note_or_without_their_hashes_are_missed() -> None:
    links, stretch = thinned(chain_of(12), {2, 3, 7})
    assert verdict(links).broken == BrokenLink(4, "id-4", "2 records are missing before it")
    unnoted, head = links[:-1], Head(12, links[-2].hash)
    assert list(walk_chain(unnoted, head, [stretch]))[-1].broken is not None
    forgotten = verdict(links, replace(stretch, hashes=None)).broken
    assert forgotten is not None


@pytest.mark.requirement("F9")
def test_hashes_that_retention_let_go_are_not_missed_and_what_was_kept_still_is() -> None:
    links, stretch = thinned(chain_of(12), {2, 3, 7}, hashes_through_seq=7)
    without = replace(stretch, hashes=None)
    assert verdict(links, without) == ChainWalk(10, 1, head_of(links), None, None, 3)
    for seq in (4, 5, 6):
        assert verdict([link for link in links if link.seq != seq], without).broken is not None


@pytest.mark.requirement("F9")
def test_a_noted_head_is_found_among_the_hashes_of_removed_records() -> None:
    whole = chain_of(12)
    links, stretch = thinned(whole, {2, 3, 7})
    assert verdict(links, stretch, noted=whole[6].hash).noted_seq == 7
    assert verdict(links, stretch, noted="no hash").noted_seq is None


def test_a_later_note_about_the_same_place_does_not_replace_the_first() -> None:
    links, stretch = thinned(chain_of(12), {2, 3, 7})
    hidden = [link for link in links if link.seq != 5]
    forged, wider = thinned(links, {5})
    assert verdict([*hidden, forged[-1]], stretch, wider).broken is not None
