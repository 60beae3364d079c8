"""What one server's tools promise: a page adds, only a complete pass removes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.catalog.contracts import ContractChange, ServerContracts
from handfast.core.contract import ToolContract
from handfast.core.schema import SchemaBounds

A, B = ToolContract("a", b"{}", None), ToolContract("b", b"{}", None)
OTHER_A = ToolContract("a", b"{}", b'{"type":"object"}')


class Kept:
    """Contracts, and the changes they told."""

    def __init__(self, *known: ToolContract) -> None:
        self.changes: list[list[tuple[str, str]]] = []
        self.contracts = ServerContracts(known, bounds=SchemaBounds(), on_change=self.told)

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


def test_a_list_without_end_teaches_ten_thousand_tools_and_no_more() -> None:
    kept = Kept()
    for page in range(3):
        tools = [ToolContract(f"{page}-{number}", b"{}", None) for number in range(4_000)]
        kept.contracts.learn(tools, cursor=b"%d" % page if page else None, next_cursor=b"%d" % (page + 1))
    assert len(kept.contracts) == 10_000
    kept.contracts.learn([ToolContract("0-7", b"{}", b'{"type":"object"}')], cursor=None, next_cursor=b"1")
    assert kept.changes[-1] == [("0-7", "changed")]
