"""The admin page of tokens, through Django's own client: who sees which, what is shown once, what is never shown."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.test.utils import override_settings
from django.urls import path
from django.utils import timezone

from handfast.django.access import issue
from handfast.django.access.tokens import find
from handfast.django.models import AgentToken
from tests.django.access.probe import STOCK

admin.autodiscover()
urlpatterns = [path("admin/", admin.site.urls)]
LIST = "/admin/handfast/agenttoken/"
PLAIN = re.compile(r"hfa_[A-Za-z0-9_-]{43}")


@pytest.fixture
def page(database: None) -> Iterator[Client]:
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=STOCK, STATIC_URL="static/"):
        yield Client()


@pytest.fixture
def root(database: None) -> Any:
    return User.objects.create(username="root", is_staff=True, is_superuser=True)


@pytest.fixture
def clerk(database: None) -> Any:
    """Staff who may do everything with tokens that a permission can allow."""
    user = User.objects.create(username="clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="handfast"))
    return user


def filled(**given: str) -> dict[str, str]:
    return {"name": "laptop", "scopes": "*:read", "expires_0": "", "expires_1": "", **given}


def text(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_issuing_shows_the_token_once(page: Client, root: Any) -> None:
    page.force_login(root)
    shown = text(page.post(f"{LIST}add/", filled(user=str(root.pk)), follow=True))
    [plain] = set(PLAIN.findall(shown))
    token = find(plain)
    assert token is not None
    assert (token.user, token.name, token.scopes) == (root, "laptop", "*:read")
    assert f"The token is {plain} - copy it now, it is not shown again." in shown

    later = [
        text(page.get(LIST)),
        text(page.get(f"{LIST}{token.pk}/change/")),
        text(page.get(f"{LIST}{token.pk}/history/")),
    ]
    assert [(plain in one, token.digest in one, f"{token.prefix}…" in one) for one in later] == [
        (False, False, True)
    ] * 3
    [entry] = LogEntry.objects.all()
    assert (entry.object_repr, plain in str(vars(entry))) == (f"laptop ({token.prefix}…)", False)


def test_what_makes_no_token_is_said_beside_its_field(page: Client, root: Any) -> None:
    page.force_login(root)
    shown = text(page.post(f"{LIST}add/", filled(user=str(root.pk), scopes="django:all")))
    assert "&#x27;django:all&#x27; is not a scope: after the colon stands none of read, write, admin." in shown
    assert "This field is required." in text(page.post(f"{LIST}add/", filled(user=str(root.pk), scopes="")))
    assert not AgentToken.objects.exists()


def test_scopes_and_expiry_can_be_changed_and_nothing_else(page: Client, root: Any, clerk: Any) -> None:
    token, plain = issue(root, name="laptop", scopes="*")
    page.force_login(root)
    change = filled(user=str(clerk.pk), name="other", scopes="django", expires_0="2099-01-01", expires_1="00:00:00")
    shown = text(page.post(f"{LIST}{token.pk}/change/", {**change, "digest": "x", "revoked": "x"}, follow=True))
    assert PLAIN.findall(shown) == []
    after = find(plain)
    assert after is not None
    assert after.expires is not None
    assert (after.user, after.name, after.scopes, after.expires.year) == (root, "laptop", "django", 2099)


def test_tokens_are_revoked_from_the_list(page: Client, root: Any) -> None:
    tokens = [issue(root, name=str(number), scopes="*")[0] for number in range(3)]
    page.force_login(root)
    chosen = {"action": "revoke_selected", "_selected_action": [str(token.pk) for token in tokens[:2]]}
    assert "Revoked 2 of 2." in text(page.post(LIST, chosen, follow=True))
    assert [token.revoked is None for token in AgentToken.objects.order_by("name")] == [False, False, True]
    first = AgentToken.objects.values_list("revoked", flat=True).order_by("name")[0]
    assert "Revoked 0 of 2." in text(page.post(LIST, chosen, follow=True))
    assert AgentToken.objects.values_list("revoked", flat=True).order_by("name")[0] == first
    assert [entry.get_change_message() for entry in LogEntry.objects.all()] == ["Revoked."] * 2


def test_the_list_says_what_each_token_is_worth(page: Client, root: Any) -> None:
    for number, change in enumerate(({}, {"revoked": timezone.now()}, {"expires": timezone.now() - timedelta(days=1)})):
        token, _ = issue(root, name=str(number), scopes="*")
        AgentToken.objects.filter(pk=token.pk).update(**change)
    page.force_login(root)
    assert re.findall(r'field-state">(\w+)<', text(page.get(LIST))) == ["good", "revoked", "expired"]


# --- who may ---------------------------------------------------------------------------------------------------------


def test_staff_issue_tokens_for_themselves_alone(page: Client, root: Any, clerk: Any) -> None:
    page.force_login(clerk)
    assert 'name="user"' not in text(page.get(f"{LIST}add/"))
    [plain] = set(PLAIN.findall(text(page.post(f"{LIST}add/", filled(user=str(root.pk)), follow=True))))
    token = find(plain)
    assert token is not None
    assert token.user == clerk


def test_staff_neither_see_nor_touch_the_tokens_of_others(page: Client, root: Any, clerk: Any) -> None:
    theirs, plain = issue(root, name="of root", scopes="*:read")
    page.force_login(clerk)
    assert "of root" not in text(page.get(LIST))
    one = f"{LIST}{theirs.pk}/"
    answers = [page.get(f"{one}change/"), page.post(f"{one}change/", filled(scopes="*")), page.post(f"{one}delete/")]
    assert [answer.status_code for answer in answers] == [302, 302, 302]  # as for a token that is not there
    page.post(LIST, {"action": "revoke_selected", "_selected_action": [str(theirs.pk)]})
    page.post(LIST, {"action": "delete_selected", "_selected_action": [str(theirs.pk)], "post": "yes"})
    after = find(plain)
    assert after is not None
    assert (after.scopes, after.revoked) == ("*:read", None)


def test_staff_without_the_permission_see_nothing(page: Client, clerk: Any) -> None:
    clerk.user_permissions.clear()
    page.force_login(clerk)
    assert [page.get(LIST).status_code, page.get(f"{LIST}add/").status_code] == [403, 403]


def test_what_is_kept_for_callers_has_no_page(page: Client, root: Any) -> None:
    page.force_login(root)
    assert page.get("/admin/handfast/keptresult/").status_code == 404
