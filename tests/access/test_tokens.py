"""Tokens on disk: issued, known at once to a gateway that runs, and verified against what is kept of them."""

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from handfast.access.refused import AuthRefused
from handfast.access.token_store import FILE_NAME, KEY_DAYS, TokenStore
from handfast.access.tokens import KnownTokens, NameTaken, is_name, issue_token
from handfast.activity.store import StoreError
from handfast.core.access.scopes import parse_scopes

NOW = 1_800_000_000.0
HOUR = 3600.0


def issue(store: TokenStore, name: str = "ci", *, now: float = NOW, seconds: float = HOUR) -> bytes:
    _, text = issue_token(
        store, name=name, subject="alice", scopes=parse_scopes("a:read b"), groups=["dev"], seconds=seconds, now=now
    )
    return text.encode()


def refusal(known: KnownTokens, token: bytes, now: float = NOW) -> str:
    with pytest.raises(AuthRefused) as caught:
        known.verify(token, now)
    return caught.value.rule


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "state")


@pytest.fixture
def known(tmp_path: Path) -> KnownTokens:
    return KnownTokens(tmp_path / "state")


@pytest.mark.requirement("001-6")
@pytest.mark.requirement("D24")
def test_a_token_says_who_calls_and_what_it_is_good_for(store: TokenStore, known: KnownTokens) -> None:
    token = issue(store)
    assert known.look()
    found = known.verify(token, NOW)
    assert (found.actor, found.groups, found.expires) == ("alice", frozenset({"dev"}), NOW + HOUR)
    assert [str(scope) for scope in found.scopes] == ["a:read", "b"]
    assert known.is_in_force(found.token)
    assert not known.look()


def test_what_is_revoked_is_refused_from_the_next_look_on(store: TokenStore, known: KnownTokens) -> None:
    token = issue(store)
    known.look()
    ended = store.revoke("ci", NOW)
    assert ended is not None
    assert known.look()
    assert refusal(known, token) == "auth.revoked"
    assert not known.is_in_force(ended.id)
    assert store.revoke("ci", NOW) is None
    assert issue(store) != token  # the name is free again
    assert [entry.state(NOW) for entry in store.entries()].count("active") == 1


def test_all_tokens_of_a_caller_end_together(store: TokenStore, known: KnownTokens) -> None:
    tokens = [issue(store, name) for name in ("one", "two")]
    other, text = issue_token(
        store, name="x", subject="bob", scopes=parse_scopes("*"), groups=(), seconds=HOUR, now=NOW
    )
    assert {entry.name for entry in store.revoke_all("alice", NOW)} == {"one", "two"}
    known.look()
    assert [refusal(known, token) for token in tokens] == ["auth.revoked"] * 2
    assert known.verify(text.encode(), NOW).token == other.id


def test_a_name_is_of_one_token_in_force(store: TokenStore) -> None:
    issue(store)
    with pytest.raises(NameTaken):
        issue(store)
    issue(store, now=NOW + HOUR)  # the first has expired


def test_tokens_of_an_old_key_stay_good_until_they_end(store: TokenStore, known: KnownTokens) -> None:
    years = 1000 * 24 * HOUR
    old = issue(store, "old", seconds=years)
    store.replace_key(NOW)
    new = issue(store, "new", seconds=years)
    later = issue(store, "later", now=NOW + KEY_DAYS * 24 * HOUR)  # by then the key is replaced by itself
    known.look()
    keys = {token.split(b".")[0] for token in (old, new, later)}
    assert len(keys) == 3
    assert [known.verify(token, NOW + 1).subject for token in (old, new)] == ["alice", "alice"]
    assert refusal(known, later) == "auth.not_yet"
    store.replace_key(NOW + years)  # all have ended, so their keys go
    known.look()
    assert refusal(known, old, NOW + years) == "auth.unknown_key"


def test_a_token_that_is_not_kept_is_none_even_if_it_is_signed(
    store: TokenStore, known: KnownTokens, tmp_path: Path
) -> None:
    token = issue(store)
    issue(store, "other")  # keeps the key
    with sqlite3.connect(tmp_path / "state" / FILE_NAME) as connection:
        connection.execute("DELETE FROM tokens WHERE name = 'ci'")
    known.look()
    assert refusal(known, token) == "auth.unknown_key"


def test_a_token_of_another_gateway_is_none_here(store: TokenStore, known: KnownTokens, tmp_path: Path) -> None:
    issue(store)
    known.look()
    assert refusal(known, issue(TokenStore(tmp_path / "other"))) == "auth.unknown_key"


def test_tokens_that_are_made_at_once_are_all_good(store: TokenStore, known: KnownTokens) -> None:
    """The first two find no key: each of their tokens must be signed by one that is kept."""
    made: list[bytes] = []
    threads = [threading.Thread(target=lambda n=n: made.append(issue(store, f"t{n}"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known.look()
    assert [known.verify(token, NOW).subject for token in made] == ["alice"] * 8


@pytest.mark.parametrize("text", ["", "a b", "corp:alice", "é", "a\n", "a" * 129, "a/b"])
def test_a_name_that_could_be_taken_for_something_else_is_none(text: str) -> None:
    assert not is_name(text)
    assert is_name("ada.l@example.com")


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_the_gateway_takes_no_file_that_others_could_have_put_there(store: TokenStore, tmp_path: Path) -> None:
    issue(store)
    file = tmp_path / "state" / FILE_NAME
    file.chmod(0o644)
    known = KnownTokens(tmp_path / "state")
    assert file.stat().st_mode & 0o077 == 0
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        known.look()
    with pytest.raises(StoreError, match="symbolic link"):
        KnownTokens(tmp_path / "state")
