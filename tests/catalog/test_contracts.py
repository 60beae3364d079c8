"""What one server's tools promise: a page adds, only a complete pass removes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.catalog.contracts import ContractChange, ListPass, ServerContracts, short_key
from handfast.core.call.contract import ToolContract
from handfast.core.schema.compiled import SchemaBounds

A, B = ToolContract("a", b"{}", None), ToolContract("b", b"{}", None)
OTHER_A = ToolContract("a", b"{}", b'{"type":"object"}')


class Kept:
    """Contracts, and the changes they told."""

    def __init__(self, *known: ToolContract, most: int = 10_000) -> None:
        self.changes: list[list[tuple[str, str]]] = []
        self.contracts = ServerContracts(known, bounds=SchemaBounds(), on_change=self.told, most=most)

    def told(self, changes: Sequence[ContractChange]) -> None:
        self.changes.append([(change.tool, change.kind) for change in changes])

    def names(self) -> list[str]:
        return sorted(contract.name for contract in self.contracts.all())


@pytest.mark.requirement("004-1")
def test_a_whole_list_adds_changes_and_removes_and_says_so() -> None:
    kept = Kept()
    kept.contracts.learn([A, B], cursor=None, next_cursor=None)
    kept.contracts.learn([OTHER_A], cursor=None, next_cursor=None)
    assert kept.changes == [[("a", "added"), ("b", "added")], [("a", "changed"), ("b", "removed")]]
    assert kept.contracts.all() == [OTHER_A]


@pytest.mark.requirement("004-13")
def test_the_same_promise_again_keeps_what_was_compiled_and_a_changed_one_replaces_it() -> None:
    kept = Kept(A)
    before = kept.contracts.find("a")
    kept.contracts.learn([ToolContract("a", b"{}", None, description="other words")], cursor=None, next_cursor=None)
    assert kept.contracts.find("a") is before
    assert kept.changes == []
    kept.contracts.learn([OTHER_A], cursor=None, next_cursor=None)
    found = kept.contracts.find("a")
    assert found is not None
    assert found is not before
    assert found.contract == OTHER_A


@pytest.mark.requirement("C3")
def test_a_list_with_its_keys_in_another_order_changes_nothing() -> None:
    seen: list[ContractChange] = []
    contracts = ServerContracts(bounds=SchemaBounds(), on_change=seen.extend)
    first = ToolContract("a", b'{"type":"object","title":"A"}', None, b'{"x":1,"y":2}')
    again = ToolContract("a", b'{"title":"A","type":"object"}', None, b'{"y":2,"x":1}')
    for one in (first, again, first, again):
        contracts.learn([one], cursor=None, next_cursor=None)
    assert [(change.kind, change.after) for change in seen] == [("added", first)]
    assert contracts.find("a") is contracts.compiled(again)


def test_of_one_page_only_so_much_is_read_for_its_spelling_and_the_rest_is_known_later() -> None:
    seen: list[str] = []
    contracts = ServerContracts(bounds=SchemaBounds(), on_change=lambda changes: seen.extend(c.tool for c in changes))
    filler = b"x" * 20_000
    spellings = [
        [ToolContract(name, text % filler, None) for name in "abcdef"]
        for text in (b'{"type":"object","title":"%b"}', b'{"title":"%b","type":"object"}')
    ]
    changed = []
    for number in range(8):
        seen.clear()
        contracts.learn(spellings[number % 2], cursor=None, next_cursor=None)
        changed.append("".join(seen))
    assert changed == ["abcdef", "def", "", "", "", "", "", ""]


def test_one_page_of_several_adds_and_removes_nothing() -> None:
    kept = Kept(A)
    kept.contracts.learn([B], cursor=None, next_cursor=b'"2"')
    assert kept.names() == ["a", "b"]
    assert not kept.contracts.is_complete()


@pytest.mark.requirement("C3")
def test_the_last_page_of_a_complete_pass_removes_what_no_page_had() -> None:
    kept = Kept(A, ToolContract("old", None, None))
    kept.contracts.learn([A], cursor=None, next_cursor=b'"2"')
    kept.contracts.learn([B], cursor=b'"2"', next_cursor=None)
    assert kept.names() == ["a", "b"]
    assert kept.contracts.is_complete()


@pytest.mark.requirement("C3")
def test_a_last_page_without_the_pages_before_it_removes_nothing() -> None:
    kept = Kept(A)
    kept.contracts.learn([B], cursor=b'"unseen"', next_cursor=None)
    assert kept.names() == ["a", "b"]
    assert not kept.contracts.is_complete()


@pytest.mark.requirement("C3")
@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=3), min_size=1, max_size=5),
    st.sets(st.sampled_from("abcxyz")),
)
def test_a_complete_pass_leaves_exactly_the_tools_of_its_pages(pages: list[list[str]], known: set[str]) -> None:
    kept = Kept(*(ToolContract(name, None, None) for name in known))
    for number, page in enumerate(pages):
        cursor = b"%d" % number if number else None
        following = b"%d" % (number + 1) if number + 1 < len(pages) else None
        kept.contracts.learn([ToolContract(name, None, None) for name in page], cursor=cursor, next_cursor=following)
    assert kept.names() == sorted({name for page in pages for name in page})


def test_abandoned_passes_are_forgotten() -> None:
    kept = Kept(A)
    for number in range(200):
        kept.contracts.learn([B], cursor=None, next_cursor=b"%d" % number)
    kept.contracts.learn([B], cursor=b"0", next_cursor=None)
    assert kept.names() == ["a", "b"]
    kept.contracts.learn([B], cursor=b"199", next_cursor=None)
    assert kept.names() == ["b"]


@pytest.mark.requirement("P2")
def test_a_contract_from_earlier_is_the_current_one_only_where_the_promise_is_the_same() -> None:
    kept = Kept(A)
    assert kept.contracts.compiled(replace(A, description="other words")) is kept.contracts.find("a")
    earlier = replace(A, output_schema=b'{"type":"string"}')
    assert kept.contracts.compiled(earlier).contract == earlier
    assert kept.contracts.compiled(B).contract == B
    assert kept.names() == ["a"]


def test_a_tool_that_only_able_clients_are_shown_stays_while_others_list_without_it() -> None:
    kept = Kept()
    kept.contracts.learn([A, B], cursor=None, next_cursor=None, view=b'{"sampling":{}}')
    kept.contracts.learn([A], cursor=None, next_cursor=None)
    assert kept.contracts.find("b") is not None
    kept.contracts.learn([A], cursor=None, next_cursor=None, view=b'{"sampling":{}}')
    assert kept.contracts.find("b") is None


def test_each_kind_of_client_is_complete_by_its_own_list_and_none_after_a_new_start() -> None:
    kept = Kept()
    kept.contracts.learn([A], cursor=None, next_cursor=None)
    assert (kept.contracts.is_complete(), kept.contracts.is_complete(b"other")) == (True, False)
    kept.contracts.start_anew()
    assert not kept.contracts.is_complete()


@pytest.mark.requirement("F4")
def test_a_list_without_end_teaches_ten_thousand_tools_and_ends_there() -> None:
    kept = Kept()
    taken = []
    for page in range(3):
        tools = [ToolContract(f"{page}-{number}", b"{}", None) for number in range(4_000)]
        taken.append(kept.contracts.learn(tools, cursor=b"%d" % page if page else None, next_cursor=b"%d" % (page + 1)))
    assert taken == [4_000, 4_000, 2_000]
    assert len(kept.contracts) == 10_000
    assert kept.contracts.is_complete(), "a tool that is not among them is known not to be offered"
    kept.contracts.learn([ToolContract("0-7", b"{}", b'{"type":"object"}')], cursor=None, next_cursor=b"1")
    assert kept.changes[-1] == [("0-7", "changed")]


@pytest.mark.requirement("F4")
def test_a_list_of_all_new_tools_takes_the_place_of_a_full_one() -> None:
    kept = Kept(most=10)
    for word in ("a", "b", "c"):
        tools = [ToolContract(f"{word}{number}", b"{}", None) for number in range(10)]
        for start in (0, 5):
            page, cursor = tools[start : start + 5], b"2" if start else None
            assert kept.contracts.learn(page, cursor=cursor, next_cursor=None if start else b"2") == 5
    assert kept.names() == [f"c{number}" for number in range(10)]


@pytest.mark.requirement("F6")
def test_pages_that_belong_to_no_listing_cannot_fill_the_catalogue() -> None:
    kept = Kept(most=10)
    for page in range(9):
        tools = [ToolContract(f"{page}-{number}", b"{}", None) for number in range(4)]
        kept.contracts.learn(tools, cursor=b"unknown", next_cursor=b"more")
    assert len(kept.contracts) <= 20


@pytest.mark.requirement("F6")
def test_a_listing_is_bounded_in_bytes() -> None:
    kept = Kept()
    tools = [ToolContract(f"t{number}", b"{%b}" % (b" " * 1024**2), None) for number in range(40)]
    assert kept.contracts.learn(tools, cursor=None, next_cursor=None) == 31
    assert len(kept.contracts) == 31


@pytest.mark.requirement("F6")
def test_a_long_cursor_leads_on_and_is_not_kept() -> None:
    kept = Kept()
    cursor = b'"%b"' % (b"x" * 1024**2)
    kept.contracts.learn([A], cursor=None, next_cursor=cursor)
    kept.contracts.learn([B], cursor=cursor, next_cursor=None)
    assert kept.contracts.is_complete()
    assert len(short_key(cursor)) == 32
    assert short_key(b'"2"') == b'"2"'


@pytest.mark.requirement("F7")
def test_a_kind_of_client_that_makes_calls_stays_however_many_other_kinds_list() -> None:
    kept = Kept()
    kept.contracts.learn([A], cursor=None, next_cursor=None, view=b"victim")
    for number in range(10_000):
        kept.contracts.learn([A], cursor=None, next_cursor=None, view=b"%d" % number)
        assert number % 1_000 or kept.contracts.is_complete(b"victim")
    assert not kept.contracts.is_complete(b"1"), "they are bounded"
    assert kept.contracts.is_complete(b"9999")
    assert kept.changes == [[("a", "added")]]


@pytest.mark.requirement("F7")
def test_lists_that_differ_by_the_kind_of_client_are_bounded_and_what_none_of_them_has_is_gone() -> None:
    kept = Kept()
    for number in range(50):
        kept.contracts.learn(
            [ToolContract(f"t{number}", None, None)], cursor=None, next_cursor=None, view=b"%d" % number
        )
    assert kept.names() == sorted(f"t{number}" for number in range(34, 50))
    kept.contracts.learn([A], cursor=None, next_cursor=None, view=b"49")
    assert kept.names() == sorted(["a", *(f"t{number}" for number in range(34, 49))])


@pytest.mark.requirement("F7")
def test_a_listing_of_our_own_is_forgotten_for_no_number_of_others() -> None:
    kept, own = Kept(), ListPass()
    kept.contracts.learn([A], cursor=None, next_cursor=b"2", own=own)
    for number in range(200):
        kept.contracts.learn([A], cursor=None, next_cursor=b"2", view=b"%d" % number)
    kept.contracts.learn([B], cursor=b"2", next_cursor=None, own=own)
    assert kept.contracts.is_complete()
    assert kept.names() == ["a", "b"]
