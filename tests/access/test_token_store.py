"""`access.db`: private to its owner, without the text of a token, and left alone if a newer handfast wrote it."""

import sqlite3
import time
from pathlib import Path

import pytest

from handfast.access.token_store import FILE_NAME, TokenEntry, TokenStore
from handfast.access.tokens import KnownTokens, issue_token
from handfast.activity.store import StoreError
from handfast.core.access.scopes import parse_scopes


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "state")


def issue(store: TokenStore) -> bytes:
    now = time.time()
    _, text = issue_token(store, name="ci", subject="a", scopes=parse_scopes("*"), groups=(), seconds=60, now=now)
    return text.encode()


def test_a_gateway_keeps_its_name_in_tokens(store: TokenStore, tmp_path: Path) -> None:
    assert store.audience() == store.audience() != TokenStore(tmp_path / "other").audience()


@pytest.mark.parametrize(
    ("expires", "revoked", "state"), [(10, None, "active"), (5, None, "expired"), (10, 1, "revoked")]
)
def test_the_state_of_a_token_is_seen_at_its_entry(expires: float, revoked: float | None, state: str) -> None:
    entry = TokenEntry(
        id="1", name="a", subject="a", scopes="*", groups="", created=0, expires=expires, revoked=revoked
    )
    assert entry.state(5) == state


def test_what_ended_long_ago_is_forgotten(store: TokenStore) -> None:
    entry = TokenEntry(id="1", name="a", subject="a", scopes="*", groups="", created=0, expires=1)
    assert store.add(entry, 0) is not None
    issue(store)
    assert [each.name for each in store.entries()] == ["ci"]


def test_the_text_of_a_token_is_kept_nowhere_and_the_file_is_its_owner_s_alone(
    store: TokenStore, tmp_path: Path
) -> None:
    token = issue(store)
    for file in (tmp_path / "state").iterdir():
        kept = file.read_bytes()
        assert token not in kept
        assert token.split(b".")[2] not in kept
        assert file.stat().st_mode & 0o077 == 0


def test_a_file_of_a_newer_handfast_is_left_alone(store: TokenStore, tmp_path: Path) -> None:
    issue(store)
    with sqlite3.connect(tmp_path / "state" / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer handfast"):
        store.entries()
    with pytest.raises(StoreError, match="newer handfast"):
        KnownTokens(tmp_path / "state")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / FILE_NAME).write_bytes(b"hello, this is no database at all" * 100)
    with pytest.raises(StoreError, match="cannot be used"):
        TokenStore(tmp_path / "state").entries()
