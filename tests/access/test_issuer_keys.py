"""Keys of an issuer: found, kept, renewed for a key that is new, and given up when they are too old."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from handfast.access.issuer_keys import IssuerKeys, KeysUnavailable, fetch_document
from handfast.access.trusted import TrustedIssuer
from tests.access.issuer import EC, KEYS, METADATA, RSA, Issuer, public, running_issuer

Found = TypeVar("Found")
HOUR = 3600.0


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


class Time:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def keys_of(issuer: Issuer, clock: Callable[[], float] = time.monotonic, **more: object) -> IssuerKeys:
    trusted = TrustedIssuer(**{"name": "corp", "issuer": issuer.url, **more})  # type: ignore[arg-type]
    return IssuerKeys(trusted, monotonic=clock)


def run(work: Callable[[], Awaitable[Found]]) -> Found:
    async def whole() -> Found:
        found = await work()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await task  # what was begun beside it
        return found

    return asyncio.run(whole())


def test_keys_are_found_through_the_metadata_and_fetched_once(issuer: Issuer) -> None:
    keys = keys_of(issuer)

    async def ask() -> list[int]:
        found = await asyncio.gather(*(keys.find("RS256", "r") for _ in range(5)))
        return [len(each) for each in [*found, await keys.find("ES256", "e"), await keys.find("ES256", None)]]

    assert run(ask) == [1] * 7
    assert issuer.asked == [METADATA, "/keys"]


def test_metadata_may_stand_where_oauth_puts_it(issuer: Issuer) -> None:
    page = issuer.pages.pop(METADATA)
    issuer.pages["/.well-known/oauth-authorization-server"] = page
    assert len(run(lambda: keys_of(issuer).find("RS256", "r"))) == 1


def test_the_place_of_the_keys_may_be_said(issuer: Issuer) -> None:
    assert len(run(lambda: keys_of(issuer, jwks_url=f"{issuer.url}/keys").find("RS256", "r"))) == 1
    assert issuer.asked == ["/keys"]


def test_a_new_key_is_found_at_once_and_invented_ones_cost_little(issuer: Issuer) -> None:
    clock = Time()
    keys = keys_of(issuer, clock)

    async def ask(key_id: str) -> int:
        return len(await keys.find("RS256", key_id))

    async def story() -> list[int]:
        found = [await ask("r"), await ask("new")]
        clock.now += 11
        issuer.show("/keys", {"keys": [*KEYS, public("new", RSA)]})
        found.append(await ask("new"))
        found += [await ask(f"invented {n}") for n in range(50)]
        return found

    assert run(story) == [1, 0, 1, *[0] * 50]
    assert issuer.asked.count("/keys") == 2


def test_a_key_that_was_taken_back_is_gone_after_the_next_fetch(issuer: Issuer) -> None:
    clock = Time()
    keys = keys_of(issuer, clock)

    async def story() -> list[int]:
        found = [len(await keys.find("RS256", "r"))]
        issuer.show("/keys", {"keys": [public("e", EC)]})
        clock.now += 601
        found.append(len(await keys.find("RS256", "r")))  # this one does not wait
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await task
        found.append(len(await keys.find("RS256", "r")))
        return found

    assert run(story) == [1, 1, 0]


def test_an_issuer_that_is_down_is_done_without_for_a_day(issuer: Issuer) -> None:
    clock = Time()
    keys = keys_of(issuer, clock)

    async def story() -> None:
        await keys.find("RS256", "r")
        issuer.show(METADATA, b"", 503)
        clock.now += 23 * HOUR
        assert len(await keys.find("RS256", "r")) == 1
        clock.now += 2 * HOUR
        with pytest.raises(KeysUnavailable):
            await keys.find("RS256", "r")
        issuer.show(METADATA, {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"})
        clock.now += 11
        assert len(await keys.find("RS256", "r")) == 1

    run(story)


WRONG: dict[str, dict[str, object]] = {
    "no metadata": {METADATA: b""},
    "metadata of another": {METADATA: {"issuer": "https://elsewhere", "jwks_uri": "/keys"}},
    "no place": {METADATA: {"issuer": "SELF"}},
    "no list": {"/keys": {"keys": 5}},
    "no object": {"/keys": []},
    "no JSON": {"/keys": b"<html>"},
    "too long": {"/keys": b"{" + b" " * 1024 * 1024},
    "deep": {"/keys": b"[" * 200_000},
}


@pytest.mark.parametrize("pages", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_list_of_keys_is_none(
    issuer: Issuer, pages: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    for path, page in pages.items():
        own = {"issuer": issuer.url} if page == {"issuer": "SELF"} else page
        issuer.show(path, own, 404 if own == b"" else 200)

    async def ask() -> None:
        with pytest.raises(KeysUnavailable):
            await keys_of(issuer).find("RS256", "r")

    run(ask)
    assert "the keys of the issuer corp cannot be had" in caplog.text


def test_a_redirect_is_not_followed(issuer: Issuer) -> None:
    issuer.show("/keys", b"", 302, Location=f"{issuer.url}/elsewhere")
    issuer.show("/elsewhere", {"keys": KEYS})

    async def ask() -> None:
        with pytest.raises(KeysUnavailable):
            await keys_of(issuer).find("RS256", "r")

    run(ask)
    assert "/elsewhere" not in issuer.asked


def test_an_answer_that_drips_is_given_up(issuer: Issuer) -> None:
    issuer.drips = True
    began = time.monotonic()

    async def ask() -> None:
        with pytest.raises(KeysUnavailable):
            await keys_of(issuer).find("RS256", "r")

    run(ask)
    assert time.monotonic() - began < 20


def test_only_public_keys_for_signatures_count(issuer: Issuer) -> None:
    odd = [
        {"kty": "oct", "kid": "s", "k": "c2VjcmV0"},
        {**public("enc", RSA), "use": "enc"},
        RSA.as_dict(private=True) | {"kid": "private"},
        {"kty": "RSA", "kid": "broken", "n": "!"},
        {"kty": ["RSA"], "kid": "odd"},
        {**public("r", RSA), "kid": 5},
        "words",
        None,
    ]
    issuer.show("/keys", {"keys": [*odd, public("r", RSA)]})
    keys = keys_of(issuer)

    async def ask() -> list[int]:
        return [len(await keys.find("RS256", key_id)) for key_id in (None, "r", "enc", "private", "broken", "s")]

    assert run(ask) == [1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "url", ["http://example.com/keys", "file:///etc/passwd", "ftp://127.0.0.1/", "http://127.0.0.1.evil/"]
)
def test_keys_come_over_https_or_from_this_machine(url: str) -> None:
    with pytest.raises(ValueError, match="https"):
        fetch_document(url)
