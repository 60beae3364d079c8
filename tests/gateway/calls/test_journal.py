"""Records that are not calls: their shape, and that a babbling server does not fill the log."""

import pytest

from handfast.catalog.contracts import ContractChange
from handfast.clock import Clock
from handfast.core.call.contract import ToolContract
from handfast.core.call.exchange import Record, Ticket
from handfast.gateway.calls.journal import Journal


class Kept:
    """A recorder that only keeps."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, *records: Record) -> int:
        self.records += records
        return len(self.records)

    def record_refusal(self, _caller: str, *records: Record) -> int:
        return self.record(*records)

    async def committed(self, ticket: Ticket) -> None:
        """At once."""

    async def room(self) -> None:
        """Always."""

    def digest(self, value: bytes) -> str:
        return value.hex()


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def journal(kept: Kept) -> Journal:
    return Journal(kept, Clock())


class Later(Clock):
    """A clock that can be put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return 1000 + self.ahead


MORE = "Dropped. Further ones of this kind are only counted for an hour."


def test_one_kind_of_trouble_with_one_server_is_recorded_twenty_times_and_says_so(journal: Journal, kept: Kept) -> None:
    for _ in range(50):
        journal.diagnose("a", "message.unpaired", "Dropped.")
    journal.diagnose("a", "message.unreadable", "Dropped.")
    journal.diagnose("b", "message.unpaired", "Dropped.")
    assert [record.reason for record in kept.records] == ["Dropped."] * 19 + [MORE] + ["Dropped."] * 2
    assert [(record.server, record.rule) for record in kept.records[20:]] == [
        ("a", "message.unreadable"),
        ("b", "message.unpaired"),
    ]


@pytest.mark.requirement("F9")
def test_a_flood_hides_nothing_else_under_the_same_rule_and_words_that_vary_are_bounded_too(
    journal: Journal, kept: Kept
) -> None:
    for _ in range(50):
        journal.diagnose("a", "message.refused", "A batch.")
    journal.diagnose("a", "message.refused", "A key twice.")
    assert kept.records[-1].reason == "A key twice."
    for number in range(1000):
        journal.diagnose("a", "message.refused", f"Number {number}.")
    assert len(kept.records) == 20 + 1 + 6 + 20


@pytest.mark.requirement("F9")
def test_after_an_hour_it_is_recorded_anew_and_what_was_only_counted_is_told(kept: Kept) -> None:
    clock = Later()
    journal = Journal(kept, clock)
    for _ in range(50):
        journal.diagnose("a", "message.refused", "A batch.")
    clock.ahead = 3599
    journal.diagnose("a", "message.refused", "A batch.")
    assert len(kept.records) == 20
    clock.ahead = 3700
    journal.diagnose("b", "message.refused", "Another's.")
    told, other = kept.records[20:]
    assert (told.server, told.rule, told.status, dict(told.details), told.reason) == (
        "a",
        "message.refused",
        "blocked",
        {"unrecorded": 31},
        "31 more of this kind had no record of their own. A batch.",
    )
    assert other.reason == "Another's."
    journal.diagnose("a", "message.refused", "A batch.")
    assert kept.records[-1].reason == "A batch."


@pytest.mark.requirement("F9")
def test_at_the_end_what_was_only_counted_is_told(journal: Journal, kept: Kept) -> None:
    for _ in range(21):
        journal.diagnose("a", "message.refused", "A batch.")
    journal.diagnose("a", "message.unpaired", "Dropped.")
    journal.close()
    assert [record.details.get("unrecorded") for record in kept.records[20:]] == [None, 1]


def test_a_changed_contract_names_the_tool_and_both_fingerprints(journal: Journal, kept: Kept) -> None:
    old, new = ToolContract("t", b"{}", None, None, ""), ToolContract("t", b'{"type":"object"}', None, None, "")
    journal.contracts_changed("s", [ContractChange("t", old, new), ContractChange("t", new, None)])
    assert [(r.type, r.rule, r.tool, r.server, dict(r.details)) for r in kept.records] == [
        ("contract_change", "contract.changed", "t", "s", {"before": old.fingerprint, "after": new.fingerprint}),
        ("contract_change", "contract.removed", "t", "s", {"before": new.fingerprint, "after": None}),
    ]


def test_a_tool_with_an_unprintable_name_cannot_disturb_the_log(journal: Journal, kept: Kept) -> None:
    tool = ToolContract("a\x1b[2J\n", None, None, None, "")
    journal.contracts_changed("s", [ContractChange(tool.name, None, tool)])
    assert kept.records[0].tool == "a?[2J?"


@pytest.mark.requirement("F6")
def test_of_one_list_a_hundred_changes_are_worded_and_the_rest_counted(journal: Journal, kept: Kept) -> None:
    tool = ToolContract("t", b"{}", None)
    changes = [ContractChange(f"t{number}", None, tool) for number in range(150)]
    journal.contracts_changed("s", [*changes, ContractChange("gone", tool, None)])
    assert [record.rule for record in kept.records] == ["contract.added"] * 100 + ["contract.many"]
    assert kept.records[-1].reason == "51 contracts of one list differ and are only counted: 50 added, 1 removed."
    assert dict(kept.records[-1].details) == {"added": 50, "removed": 1}


@pytest.mark.requirement("F6")
def test_a_list_that_changes_without_end_is_counted_after_a_thousand_changes(journal: Journal, kept: Kept) -> None:
    tool = ToolContract("t", b"{}", None)
    for _ in range(50):
        journal.contracts_changed("s", [ContractChange(f"t{number}", tool, tool) for number in range(100)])
    assert len(kept.records) == 1000 + 40
    journal.contracts_changed("other", [ContractChange("t", tool, tool)])
    assert kept.records[-1].rule == "contract.changed", "one server takes nothing from another"
