"""Contracts on disk: what one start learnt, the next one knows; and two servers of one name never share."""

import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.activity.state_folder import prepare_database
from handfast.activity.store import StoreError
from handfast.catalog.contracts import ContractChange
from handfast.catalog.store import ContractStore, source_of
from handfast.core.call.contract import ToolContract

A = ToolContract("a", b'{ "type":"object"}', b'{"x":1.0}', b"{}", "words")
B = ToolContract("b", None, None)


def added(*contracts: ToolContract) -> list[ContractChange]:
    return [ContractChange(contract.name, None, contract) for contract in contracts]


@pytest.mark.requirement("004-1")
def test_what_was_saved_is_loaded_to_the_byte_by_the_next_start(tmp_path: Path) -> None:
    first = ContractStore(tmp_path)
    first.save("up", "source", added(A, B))
    first.close()
    second = ContractStore(tmp_path)
    assert second.load("up", "source") == [A, B]
    second.close()


def test_changes_replace_and_removals_remove(tmp_path: Path) -> None:
    store = ContractStore(tmp_path)
    store.save("up", "source", added(A, B))
    changed = ToolContract("a", None, b"{}")
    store.save("up", "source", [ContractChange("a", A, changed), ContractChange("b", B, None)])
    store.close()
    again = ContractStore(tmp_path)
    assert again.load("up", "source") == [changed]
    again.close()


@pytest.mark.requirement("C3")
def test_servers_of_one_name_but_another_command_do_not_share(tmp_path: Path) -> None:
    store = ContractStore(tmp_path)
    store.save("up", source_of(["npx", "one"]), added(A))
    store.close()
    again = ContractStore(tmp_path)
    assert again.load("up", source_of(["npx", "two"])) == []
    assert again.load("other", source_of(["npx", "one"])) == []
    again.close()


@given(st.lists(st.text(max_size=4), max_size=3), st.lists(st.text(max_size=4), max_size=3))
def test_a_source_differs_where_the_command_does(one: list[str], other: list[str]) -> None:
    no_nul = [[part.replace("\0", "") for part in command] for command in (one or [""], other or [""])]
    assert (source_of(no_nul[0]) == source_of(no_nul[1])) is (no_nul[0] == no_nul[1])


@pytest.mark.requirement("D14")
def test_trouble_with_a_schema_is_news_once_also_to_later_processes(tmp_path: Path) -> None:
    store = ContractStore(tmp_path)
    assert store.is_news("up", "a", "digest")
    assert not store.is_news("up", "a", "digest")
    store.close()
    later = ContractStore(tmp_path)
    assert not later.is_news("up", "a", "digest")
    assert later.is_news("up", "a", "another")
    later.close()


def test_the_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    store = ContractStore(tmp_path / "state")
    store.close()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def test_a_write_that_fails_does_not_stop_the_next(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = ContractStore(tmp_path)
    broken = ToolContract("\0c", b"{}", None, description="\ud800")  # what no database can keep
    store.save("up", "source", added(broken))
    store.save("up", "source", added(A))
    store.close()
    again = ContractStore(tmp_path)
    assert again.load("up", "source") == [A]
    again.close()
    assert "learnt again" in caplog.text


def test_a_new_file_that_another_start_is_writing_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself does not wait where a file is switched to its log while another connection writes."""
    other = sqlite3.connect(prepare_database(tmp_path, "catalog.db"), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    ending = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    ending.start()
    ContractStore(tmp_path).close()
    ending.join()
    other.close()


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("plain text, and enough of it to be no empty file\n" * 30)
    (tmp_path / "catalog.db").chmod(0o600)
    with pytest.raises(StoreError, match=r"catalog\.db cannot be used: file is not a database\. Remove it"):
        ContractStore(tmp_path)
