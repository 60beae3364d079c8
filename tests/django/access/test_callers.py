"""Who calls: our tokens, sessions, passwords and whatever else the project's authenticators know."""

import asyncio
import base64
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone
from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from handfast.core.access.scopes import Scope
from handfast.django.access import ApiCaller, CallerRefused, identify_caller, issue, label, revoke
from handfast.django.models import AgentToken
from handfast.toolkit.writing.actor import Actor, label_of
from tests.django.access.guarded import ByKey
from tests.django.access.probe import ask, serving

SESSION = "rest_framework.authentication.SessionAuthentication"
BASIC = "rest_framework.authentication.BasicAuthentication"
BY_KEY = "tests.django.access.guarded.ByKey"
BROKEN = "tests.django.access.guarded.Broken"

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def ada() -> Any:
    return User.objects.create_user("ada")  # without a password: that takes a quarter of a second


def bearing(text: str, **more: str) -> Any:
    return RequestFactory().post("/mcp/", headers={"Authorization": text, **more})


def password(username: str, secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{username}:{secret}'.encode()).decode()}"}


# --- tokens of ours --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
def test_a_token_of_ours_makes_the_request_its_users(ada: Any, scheme: str) -> None:
    token, plain = issue(ada, name="laptop", scopes="*:read django/a")
    request = bearing(f"{scheme} {plain}")
    caller = identify_caller(request)
    assert (caller.token, caller.user, label(caller)) == (token, ada, "token:laptop")
    assert caller.scopes == (Scope("*", "*", "read"), Scope("django", "a"))
    assert (request.user, asyncio.run(request.auser())) == (ada, ada)
    inner = APIView().initialize_request(request)
    assert (inner.user, inner.auth) == (ada, token)
    assert AgentToken.objects.get().last_used is not None


def test_a_token_costs_one_query_a_call(ada: Any) -> None:
    _, plain = issue(ada, name="laptop", scopes="*")
    identify_caller(bearing(f"Bearer {plain}"))
    with CaptureQueriesContext(connection) as queries:
        label(identify_caller(bearing(f"Bearer {plain}")))
    assert len(queries) == 1


UNKNOWN = "This token is not known here. Send it whole, or ask for another."


@pytest.mark.parametrize(
    ("spoil", "reason", "message"),
    [
        ("revoke", "revoked", "This token was revoked. Ask for another."),
        ("expire", "expired", "This token has expired. Ask for another."),
        ("deactivate", "inactive_user", "The user whom this token acts for is not active. Ask the operator."),
        ("delete", "unknown", UNKNOWN),
        ("delete user", "unknown", UNKNOWN),
    ],
)
def test_a_token_that_is_no_longer_good_is_refused(
    ada: Any, spoil: str, reason: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    token, plain = issue(ada, name="laptop", scopes="*")
    shown = "" if reason == "unknown" else token.prefix
    match spoil:
        case "revoke":
            revoke(token)
        case "expire":
            AgentToken.objects.update(expires=timezone.now())
        case "deactivate":
            User.objects.update(is_active=False)
        case "delete":
            token.delete()
        case _:
            ada.delete()
    request = bearing(f"Bearer {plain}")
    with pytest.raises(CallerRefused) as refused:
        identify_caller(request)
    challenge = {"WWW-Authenticate": f'Bearer error="invalid_token", error_description="{message}"'}
    raised = refused.value
    assert (raised.status, raised.message, raised.headers, raised.reason) == (401, message, challenge, reason)
    assert not hasattr(request, "_force_auth_user")
    assert not AgentToken.objects.filter(last_used__isnull=False).exists()
    assert [record.getMessage() for record in caplog.records] == [f"security.auth.failed: {reason} {shown}"]


@pytest.mark.parametrize(
    "text", ["hfa_", "hfa_short", f"hfa_{'a' * 43}", f"hfa_{'a' * 43},x", "hfa_ü\x00", "hfa_a hfa_b"]
)
def test_what_looks_like_a_token_of_ours_is_never_passed_on(text: str) -> None:
    with pytest.raises(CallerRefused) as refused:
        identify_caller(bearing(f"Bearer {text}"))
    assert refused.value.message == UNKNOWN


def test_a_token_that_expires_later_is_good_until_then(ada: Any) -> None:
    _, plain = issue(ada, name="laptop", scopes="*", expires=timezone.now() + timedelta(hours=1))
    assert label(identify_caller(bearing(f"Bearer {plain}"))) == "token:laptop"


def test_scopes_that_cannot_be_read_are_good_for_nothing(ada: Any, caplog: pytest.LogCaptureFixture) -> None:
    token, plain = issue(ada, name="laptop", scopes="*")
    AgentToken.objects.update(scopes="* :")
    assert identify_caller(bearing(f"Bearer {plain}")).scopes == ()
    assert [record.getMessage() for record in caplog.records] == [
        f"access.scopes_unreadable: {token} cannot be used. Write its scopes again."
    ]


def test_a_token_wins_over_a_session(ada: Any) -> None:
    grace = User.objects.create_user("grace")
    _, plain = issue(ada, name="laptop", scopes="*")
    with serving(SESSION) as client:
        client.force_login(grace)
        answer = ask(client, {"Authorization": f"Bearer {plain}"}).json()
    assert (answer["label"], answer["user"]) == ("token:laptop", "ada")


def test_the_endpoint_can_send_what_a_refusal_says(ada: Any) -> None:
    with serving() as client:
        answer = ask(client, {"Authorization": "Bearer hfa_x"})
    assert (answer.status_code, answer.json()) == (401, {"refused": UNKNOWN})
    assert answer.headers["WWW-Authenticate"] == f'Bearer error="invalid_token", error_description="{UNKNOWN}"'


# --- everybody else --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "Basic aGZfYTpi", "Token hfa_abc", "Bearer eyJhbGci", "Bearer xhfa_a", "Bearer"])
def test_what_is_not_ours_is_left_to_the_views(text: str) -> None:
    ByKey.asked = 0
    request = bearing(text)
    before = dict(vars(request))
    with override_settings(REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [BY_KEY]}):
        caller = identify_caller(request)
        assert ByKey.asked == 0  # nobody asks before somebody wants to know
        assert (caller.token, caller.scopes, label(caller), label(caller)) == (None, None, "", "")
    assert ByKey.asked == 1
    assert vars(request) == before


def test_a_session_is_known_without_a_csrf_token_and_nothing_is_changed_with_it(ada: Any) -> None:
    with serving(SESSION) as client:
        client.force_login(ada)
        answer = ask(client).json()
    assert (answer["label"], answer["user"]) == ("user:ada", "ada")
    assert "sites__list" in answer["shown"]
    assert "sites__create" in answer["shown"]  # Django's test client is not asked for one

    with serving(SESSION) as client:
        client.handler.enforce_csrf_checks = True
        client.force_login(ada)
        answer = ask(client).json()
    assert answer["label"] == "user:ada"
    assert "sites__list" in answer["shown"]
    assert "sites__create" not in answer["shown"]


def test_a_password_is_known_and_is_not_put_on_the_request(ada: Any) -> None:
    ada.set_password("lovelace")
    ada.save()
    with serving(BASIC) as client:
        right = ask(client, password("ada", "lovelace")).json()
        wrong = ask(client, password("ada", "byron")).json()
    assert (right["label"], right["user"]) == ("user:ada", "")
    assert (wrong["label"], wrong["user"]) == ("", "")


def test_the_projects_own_keys_are_known(ada: Any) -> None:
    with serving(BASIC, BY_KEY) as client:
        assert ask(client, {"Authorization": "Bearer key-ada"}).json()["label"] == "user:ada"
        assert ask(client, {"Authorization": "Bearer key-eve"}).json()["label"] == ""


def test_an_authenticator_that_fails_makes_nobody_known(ada: Any, caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [BROKEN]}):
        assert label(identify_caller(bearing("Bearer key-ada"))) == ""
    assert [record.getMessage() for record in caplog.records] == [
        "access.authenticator_raised: RuntimeError. Nobody is known by it."
    ]


def test_a_caller_that_a_test_of_the_project_signed_in_is_known(ada: Any) -> None:
    request = APIRequestFactory().post("/mcp/")
    force_authenticate(request, ada)
    assert label(identify_caller(request)) == "user:ada"


# --- labels ----------------------------------------------------------------------------------------------------------


def user_label(username: str, pk: Any = 7) -> str:
    request = RequestFactory().post("/mcp/")
    request._force_auth_user = User(pk=pk, username=username)  # type: ignore[attr-defined]  # as DRF does
    return label(ApiCaller(request))


def test_a_user_whose_name_no_record_could_hold_is_known_by_its_key() -> None:
    assert [user_label(name) for name in ("ada", "a" * 251, "a" * 252, "ada ", "a\u200bda", " ", "")] == [
        "user:ada",
        f"user:{'a' * 251}",
        *["user-id:7"] * 5,
    ]
    assert user_label("", pk=None) == ""


@given(st.text(max_size=300), st.text(max_size=300))
@example("a" * 300, "a" * 301)
@example("ada ", "ada")
@example("\u200b", "\u200c")
def test_no_two_users_are_recorded_alike(one: str, other: str) -> None:
    labels = [label_of(Actor(id=user_label(name, pk))) for pk, name in enumerate((one, other))]
    assert labels[0] != labels[1] or one == other
