"""The guide's own verification, run as an auditor would: copied out of the document, without our code."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from handfast.activity.chain import FIELDS
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import Retention
from handfast.clock import Clock
from handfast.core.call.exchange import Record, RecordType, Status

CLOCK = Clock()


GUIDE = Path(__file__).parents[2] / "docs" / "activity.md"


def audit(folder: Path) -> "subprocess.CompletedProcess[str]":
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    # -I -S: nothing but the standard library
    command = [sys.executable, "-I", "-S", "-c", program, str(folder / "activity.db")]
    return subprocess.run(command, capture_output=True, text=True)


def record(time: str = "") -> Record:
    return Record(
        id=CLOCK.new_id(),
        time=time or CLOCK.now(),
        type=RecordType.TOOL_CALL,
        status=Status.SUCCESS,
        reason="größer als \ud83d",
        duration_ms=0.1,
        details={"share": 1e-07, "size": 2**70},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = SqliteStore.open(tmp_path)
    store.append([record("2020-01-01T00:00:00.000000Z"), record(), record(), record()])
    store.close()
    return tmp_path


def test_the_guide_has_every_field_of_a_record() -> None:
    (table,) = re.findall(r"^## A record\n(.*?)^## ", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    described = [
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall("`(.*?)`", row)
    ]
    assert described == [*FIELDS, "seq"]


def test_the_guides_lines_verify_a_real_store(folder: Path) -> None:
    store = SqliteStore.open(folder)
    head = store.head()
    store.close()
    assert audit(folder).stdout == f"{head.seq} {head.hash} intact\n"


def test_the_guides_lines_accept_what_retention_removed(folder: Path) -> None:
    store = SqliteStore.open(folder)
    assert store.prune(Retention(keep_days=30), now=datetime.now(UTC)) == 1
    head = store.head()
    store.close()
    assert audit(folder).stdout == f"{head.seq} {head.hash} intact\n"


def test_the_guides_lines_accept_an_empty_store(tmp_path: Path) -> None:
    SqliteStore.open(tmp_path).close()
    assert audit(tmp_path).stdout == "0 None intact\n"


@pytest.fixture
def thinned(tmp_path: Path) -> Path:
    with closing(SqliteStore.open(tmp_path)) as store:
        blocked = structs.replace(record(), status=Status.BLOCKED)
        store.append([blocked if number % 10 == 5 else record() for number in range(4_000)])
        while store.prune(Retention(keep_bytes=1536 * 1024), now=datetime.now(UTC)):
            pass
        assert list(store.walk())[-1].thinned > 500
    return tmp_path


@pytest.mark.requirement("F9")
def test_the_guides_lines_accept_a_thinned_history(thinned: Path) -> None:
    with closing(SqliteStore.open(thinned)) as store:
        head = store.head()
    assert audit(thinned).stdout == f"{head.seq} {head.hash} intact\n"


@pytest.mark.requirement("F9")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE seq = 6",
        "DELETE FROM records WHERE seq = 16",
        "DELETE FROM removed WHERE first = (SELECT min(first) FROM removed)",
        "UPDATE removed SET hashes = NULL WHERE first = (SELECT min(first) FROM removed)",
        "UPDATE removed SET hashes = zeroblob(length(hashes))",
    ],
)
def test_the_guides_lines_find_damage_in_a_thinned_history(thinned: Path, damage: str) -> None:
    with closing(sqlite3.connect(thinned / "activity.db", isolation_level=None)) as connection:
        assert connection.execute(damage).rowcount == 1 or "zeroblob" in damage
    found = audit(thinned)
    assert (found.returncode, found.stdout) == (1, "")
    assert "AssertionError" in found.stderr


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE seq = 1",
        "DELETE FROM records WHERE seq = 2",
        "DELETE FROM records WHERE seq = 4",
        "DELETE FROM records",
        "UPDATE records SET payload = replace(payload, 'success', 'blocked') WHERE seq = 3",
    ],
)
def test_the_guides_lines_find_every_kind_of_damage(folder: Path, damage: str) -> None:
    connection = sqlite3.connect(folder / "activity.db", isolation_level=None)
    connection.execute(damage)
    connection.close()
    found = audit(folder)
    assert (found.returncode, found.stdout) == (1, "")
    assert "AssertionError" in found.stderr
