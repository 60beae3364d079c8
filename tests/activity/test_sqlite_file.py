"""Opening the store: private, made once however many come at once, and clear about what is wrong."""

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from handfast.activity.query import EVERYTHING
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import StoreError, StoreMissing
from handfast.core.call.exchange import Record, RecordType, Status

RECORD = Record(id="1", time="2026-03-01T12:00:00.000000Z", type=RecordType.TOOL_CALL, status=Status.SUCCESS)


def test_the_folder_and_every_file_are_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "state"
    store = SqliteStore.open(folder)
    store.append([RECORD])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"activity.db": 0o600, "activity.db-wal": 0o600, "activity.db-shm": 0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    store.close()


def test_a_file_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path).close()
    (tmp_path / "activity.db").chmod(0o644)
    SqliteStore.open(tmp_path).close()
    assert stat.S_IMODE((tmp_path / "activity.db").stat().st_mode) == 0o600


def test_every_commit_is_synced_to_disk_in_wal_mode(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path)
    pragmas = [store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 2]
    store.close()


def test_reading_where_nothing_is_says_so_and_makes_nothing(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(StoreMissing):
            SqliteStore.open_existing(folder)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_counts_as_no_store_to_read(tmp_path: Path) -> None:
    (tmp_path / "activity.db").touch()
    with pytest.raises(StoreMissing):
        SqliteStore.open_existing(tmp_path)


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("opener", [SqliteStore.open, SqliteStore.open_existing])
@pytest.mark.parametrize("version", [0, -1])
def test_a_history_without_its_format_is_no_empty_one(
    tmp_path: Path, opener: Callable[[Path], SqliteStore], version: int
) -> None:
    SqliteStore.open(tmp_path).close()
    set_pragma(tmp_path, f"user_version = {version}")
    with pytest.raises(StoreError, match="holds tables but no format of a history; move it aside") as refused:
        opener(tmp_path)
    assert not isinstance(refused.value, StoreMissing)


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("opener", [SqliteStore.open, SqliteStore.open_existing])
def test_a_file_cut_to_nothing_beside_its_log_is_refused_and_the_log_stays(
    tmp_path: Path, opener: Callable[[Path], SqliteStore]
) -> None:
    store = SqliteStore.open(tmp_path)
    store.append([RECORD])
    log = (tmp_path / "activity.db-wal").read_bytes()
    store.close()
    (tmp_path / "activity.db").write_bytes(b"")
    (tmp_path / "activity.db-wal").write_bytes(log)
    with pytest.raises(StoreError, match="is empty beside its log"):
        opener(tmp_path)
    assert (tmp_path / "activity.db-wal").read_bytes() == log


def test_a_format_that_was_set_back_is_set_right_again(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path).close()
    set_pragma(tmp_path, "user_version = 1")
    SqliteStore.open(tmp_path).close()


@pytest.mark.parametrize("opener", [SqliteStore.open, SqliteStore.open_existing])
def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path, opener: type[SqliteStore]) -> None:
    SqliteStore.open(tmp_path).close()
    set_pragma(tmp_path, "user_version = 3")
    assert complaint(opener, tmp_path).endswith(
        "was written by a newer handfast (format 3, this one reads up to 2); upgrade handfast."
    )


@pytest.mark.requirement("F9")
def test_a_store_of_the_first_format_is_upgraded_and_loses_nothing(tmp_path: Path) -> None:
    with closing(SqliteStore.open(tmp_path)) as store:
        store.append([RECORD] * 3)
        before = list(store.query(EVERYTHING))
    with closing(sqlite3.connect(tmp_path / "activity.db", isolation_level=None)) as connection:
        connection.execute("DROP TABLE removed")
        connection.execute("PRAGMA user_version = 1")
    for opener in (SqliteStore.open_existing, SqliteStore.open, SqliteStore.open_existing):
        with closing(opener(tmp_path)) as store:
            assert list(store.query(EVERYTHING)) == before
            assert list(store.walk())[-1].broken is None
    with closing(SqliteStore.open(tmp_path)) as store:
        assert store.append([RECORD]).seq == 4
        assert list(store.walk())[-1].broken is None


@pytest.mark.requirement("F9")
def test_a_store_is_upgraded_once_by_whoever_comes_first(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "activity.db", isolation_level=None)) as connection:
        connection.execute("DROP TABLE removed")
        connection.execute("PRAGMA user_version = 1")
    with ThreadPoolExecutor(4) as pool:
        for store in pool.map(SqliteStore.open, [tmp_path] * 4):
            store.close()
    with closing(sqlite3.connect(tmp_path / "activity.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    set_pragma(tmp_path, "application_id = 7")
    assert complaint(SqliteStore.open, tmp_path).endswith("belongs to another program; choose another state folder.")


@pytest.mark.parametrize("opener", [SqliteStore.open, SqliteStore.open_existing])
def test_a_file_that_is_no_database_is_named_as_such(tmp_path: Path, opener: type[SqliteStore]) -> None:
    (tmp_path / "activity.db").write_bytes(b"certainly not a database" * 100)
    assert complaint(opener, tmp_path).endswith("it is not a database; move it aside to start a new one.")


def test_a_damaged_file_is_named_as_such(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path)
    store.append([RECORD] * 500)
    store.close()
    path = tmp_path / "activity.db"
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)

    def use(folder: Path) -> object:
        with closing(SqliteStore.open(folder)) as store:
            return store.append([RECORD])

    assert "it is damaged; move it aside" in complaint(use, tmp_path)


def test_a_state_folder_that_is_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert "is not a folder" in complaint(SqliteStore.open, tmp_path / "state")


def test_a_folder_that_may_not_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from handfast.activity.sqlite import SqliteStore\n"
        "from handfast.activity.store import StoreError\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"  # the superuser may read everything, so be somebody else
        "try: SqliteStore.open_existing(Path(sys.argv[1]))\n"
        "except StoreError as error: print(error)"
    )
    tmp_path.chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
        )
    finally:
        tmp_path.chmod(0o700)
    assert done.stdout == f"The activity store {tmp_path / 'activity.db'} failed: Permission denied.\n"


def test_a_full_disk_is_named_as_such_and_the_chain_survives(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")  # what SQLite itself reports as a full disk
    with pytest.raises(StoreError, match=r"the disk is full; free some space\.$"):
        store.append([RECORD] * 5_000)
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.append([RECORD])
    assert list(store.walk())[-1].broken is None
    store.close()


def test_many_may_open_a_new_folder_at_once_and_share_one_key(tmp_path: Path) -> None:
    start = threading.Barrier(6)

    def open_one(folder: Path) -> str:
        start.wait()
        store = SqliteStore.open(folder)
        digest = store.digest(b"x")
        store.close()
        return digest

    with ThreadPoolExecutor(6) as pool:
        for number in range(10):
            assert len(set(pool.map(open_one, [tmp_path / str(number)] * 6))) == 1


def complaint(opener: object, folder: Path) -> str:
    assert callable(opener)
    with pytest.raises(StoreError) as caught:
        opener(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def set_pragma(folder: Path, setting: str) -> None:
    connection = sqlite3.connect(folder / "activity.db", isolation_level=None)
    connection.execute(f"PRAGMA {setting}")
    connection.close()
