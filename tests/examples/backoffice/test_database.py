"""The database of the back office: whole transactions, one state per look, and clear words when it is busy."""

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backoffice.domain.errors import Unavailable
from backoffice.persistence import database
from backoffice.persistence.columns import like_text, moment_text
from backoffice.persistence.database import Database

TABLE = "CREATE TABLE IF NOT EXISTS words (word TEXT NOT NULL)"


class Interrupted(Exception):
    """Something that comes in between."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "a" / "words.db", [TABLE])
    yield opened
    opened.close()


def words(db: sqlite3.Connection) -> list[str]:
    return [row["word"] for row in db.execute("SELECT word FROM words ORDER BY rowid")]


def add(db: sqlite3.Connection, word: str) -> None:
    db.execute("INSERT INTO words VALUES (?)", (word,))


def test_it_keeps_references_and_writes_ahead(db: Database) -> None:
    def pragmas(connection: sqlite3.Connection) -> list[object]:
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("foreign_keys", "journal_mode")]

    assert asyncio.run(db.read(pragmas)) == [1, "wal"]


def test_what_raises_leaves_nothing_behind_and_the_next_one_works(db: Database) -> None:
    def half_way(connection: sqlite3.Connection) -> None:
        add(connection, "lost")
        raise Interrupted

    async def session() -> list[str]:
        await db.write(lambda connection: add(connection, "first"))
        with pytest.raises(Interrupted):
            await db.write(half_way)
        await db.write(lambda connection: add(connection, "second"))
        return await db.read(words)

    assert asyncio.run(session()) == ["first", "second"]


def test_a_caller_that_leaves_does_not_split_a_transaction(db: Database) -> None:
    async def session() -> list[str]:
        def both(connection: sqlite3.Connection) -> None:
            add(connection, "one")
            add(connection, "two")

        leaving = asyncio.ensure_future(db.write(both))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        return await db.read(words)

    assert asyncio.run(session()) in ([], ["one", "two"])


def test_a_file_that_another_process_holds_is_unavailable_for_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    db = Database(tmp_path / "words.db", [TABLE])
    other = sqlite3.connect(tmp_path / "words.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def session() -> list[str]:
        with pytest.raises(Unavailable):
            await db.write(lambda connection: add(connection, "too soon"))
        other.execute("ROLLBACK")
        await db.write(lambda connection: add(connection, "now"))
        return await db.read(words)

    try:
        assert asyncio.run(session()) == ["now"]
    finally:
        other.close()
        db.close()


def test_a_fault_of_ours_is_not_taken_for_a_busy_database(db: Database) -> None:
    with pytest.raises(sqlite3.OperationalError):
        asyncio.run(db.read(lambda connection: connection.execute("SELECT nothing FROM nowhere")))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.text("%_\\ab"))
def test_a_search_finds_exactly_what_holds_the_words(text: str, asked: str) -> None:
    with sqlite3.connect(":memory:") as db:
        found = db.execute("SELECT ? LIKE ? ESCAPE '\\'", (text, like_text(asked))).fetchone()[0]
    db.close()
    assert bool(found) == (ascii_lower(asked) in ascii_lower(text))


def ascii_lower(text: str) -> str:
    """SQLite knows large and small letters of ASCII only."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


AWARE = st.datetimes(timezones=st.timezones())


@given(AWARE, AWARE)
def test_moments_sort_as_text_as_they_do_in_time(one: datetime, other: datetime) -> None:
    try:
        earlier = one.astimezone(UTC) < other.astimezone(UTC)
    except OverflowError:
        return  # beyond what a moment in UTC can be
    assert (moment_text(one) < moment_text(other)) == earlier
