"""Tokens for agents: what is shown, what is stored, and how use is noted."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from handfast.core.words.redaction import scrub_text
from handfast.django.access import issue, revoke
from handfast.django.access.tokens import find, note_use
from handfast.django.models import AgentToken

NO_KIND = (
    "after the colon stands none of read, write, admin. Write server, server/tool or either with :read, :write or"
    " :admin; * stands for any characters."
)

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def ada() -> Any:
    return User.objects.create_user("ada")


def test_a_token_is_found_by_its_text_and_the_text_is_nowhere(ada: Any) -> None:
    token, plain = issue(ada, name="laptop", scopes="*:read")
    assert find(plain) == token
    stored = AgentToken.objects.filter(pk=token.pk).values().get()
    assert [value for value in stored.values() if plain in str(value)] == []
    assert plain.startswith(token.prefix)
    assert (token.prefix[:4], len(token.prefix), len(plain)) == ("hfa_", 10, 47)
    assert str(token) == f"laptop ({token.prefix}…)"


def test_no_two_tokens_are_alike(ada: Any) -> None:
    texts = {issue(ada, name=str(number), scopes="*")[1] for number in range(50)}
    assert len(texts) == 50


@pytest.mark.parametrize("change", [str.upper, str.strip, lambda text: text[:-1], lambda text: text + "a"])
def test_only_the_whole_text_finds_it(ada: Any, change: Any) -> None:
    token, plain = issue(ada, name="laptop", scopes="*")
    assert find(change(plain)) == (token if change(plain) == plain else None)
    assert find(token.digest) is None
    assert find(f"hfa_{token.digest}") is None
    assert find("") is None
    assert find("hfa_\udcff\x00") is None


def test_a_token_is_found_with_its_user_in_one_query(ada: Any) -> None:
    _, plain = issue(ada, name="laptop", scopes="*")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = find(plain)
        assert found is not None
        assert found.user == ada
    assert len(queries) == 1


def test_scopes_and_name_are_stored_as_they_are_read(ada: Any) -> None:
    token, _ = issue(ada, name=" my laptop ", scopes="  django/a**:read\n* *  ")
    assert (token.name, token.scopes) == ("my laptop", "django/a*:read *")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scopes": ""}, {"scopes": ["This field cannot be blank."]}),
        ({"scopes": "  "}, {"scopes": ["Name at least one scope; * is good for everything."]}),
        ({"name": ""}, {"name": ["This field cannot be blank."]}),
        ({"name": " "}, {"name": ["A name has only characters that can be seen. Choose another."]}),
        ({"name": "a\nb"}, {"name": ["A name has only characters that can be seen. Choose another."]}),
        ({"name": "\u2800"}, {"name": ["A name has only characters that can be seen. Choose another."]}),
        ({"name": "taken"}, {"name": ["Token for an agent with this Name already exists."]}),
        (
            {"expires": datetime(2020, 1, 1)},
            {"expires": ["This time is over. Choose a later one, or none."]},
        ),
        (
            {"scopes": "django:all"},
            {"scopes": [f"'django:all' is not a scope: {NO_KIND}"]},
        ),
    ],
)
def test_what_makes_no_token_is_said_in_one_line(ada: Any, given: dict[str, Any], said: dict[str, list[str]]) -> None:
    issue(ada, name="taken", scopes="*")
    with pytest.raises(ValidationError) as refused:
        issue(ada, **{"name": "laptop", "scopes": "*", **given})
    assert refused.value.message_dict == said


@pytest.mark.parametrize("use_tz", [True, False])
def test_an_expiry_is_taken_with_and_without_a_time_zone(ada: Any, use_tz: bool) -> None:
    later = timezone.now() + timedelta(hours=1)
    with override_settings(USE_TZ=use_tz):
        aware, _ = issue(ada, name="aware", scopes="*", expires=later)
        naive, _ = issue(ada, name="naive", scopes="*", expires=timezone.make_naive(later))
        assert aware.expires == naive.expires == (later if use_tz else timezone.make_naive(later))
        assert not aware.is_expired


def test_use_is_noted_at_most_once_a_minute(ada: Any) -> None:
    _, plain = issue(ada, name="laptop", scopes="*")
    first, meanwhile = find(plain), find(plain)
    assert first is not None
    assert meanwhile is not None
    note_use(first)
    noted = AgentToken.objects.get().last_used
    assert noted is not None
    note_use(meanwhile)  # read before the first one wrote: another process
    again = find(plain)
    assert again is not None
    with CaptureQueriesContext(connection) as queries:
        note_use(again)
    assert len(queries) == 0
    assert AgentToken.objects.get().last_used == noted

    AgentToken.objects.update(last_used=timezone.now() - timedelta(seconds=61))
    later = find(plain)
    assert later is not None
    note_use(later)
    assert AgentToken.objects.get().last_used > noted  # type: ignore[operator]  # it is there


def test_a_table_that_cannot_be_written_does_not_stop_a_caller(ada: Any, caplog: pytest.LogCaptureFixture) -> None:
    _, plain = issue(ada, name="laptop", scopes="*")
    token = find(plain)
    assert token is not None
    with connection.execute_wrapper(_only_reads):
        note_use(token)
    assert [record.getMessage() for record in caplog.records] == ["token.use_not_noted: OperationalError."]
    assert AgentToken.objects.get().last_used is None


def _only_reads(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    from django.db import OperationalError

    if sql.startswith("UPDATE"):
        raise OperationalError("attempt to write a readonly database")
    return execute(sql, params, many, context)


def test_the_first_revocation_counts(ada: Any) -> None:
    token, _ = issue(ada, name="laptop", scopes="*")
    revoke(token)
    when = token.revoked
    revoke(token)
    assert AgentToken.objects.get().revoked == when is not None


def test_tokens_go_with_their_user(ada: Any) -> None:
    issue(ada, name="laptop", scopes="*")
    ada.delete()
    assert not AgentToken.objects.exists()


def test_a_token_in_a_text_that_is_logged_is_masked(ada: Any) -> None:
    _, plain = issue(ada, name="laptop", scopes="*")
    assert scrub_text(f"could not use {plain} here") == "could not use [redacted] here"
