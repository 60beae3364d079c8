"""Which tools somebody would be listed."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone
from rest_framework import viewsets
from rest_framework.permissions import DjangoModelPermissions, IsAdminUser
from rest_framework.routers import SimpleRouter

from handfast.django.access import issue, revoke
from handfast.django.discovery import discover
from handfast.django.inspect.listing_as import NoSuchCaller, tools_for
from handfast.django.models import AgentToken
from tests.django.project.models import Site
from tests.django.project.serializers import SiteSerializer

pytestmark = pytest.mark.usefixtures("database")


class Sites(viewsets.ModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes = (DjangoModelPermissions,)


class Secrets(Sites):
    permission_classes: Any = (IsAdminUser,)


def listed(name: str) -> list[str]:
    router = SimpleRouter()
    router.register("sites", Sites, basename="sites")
    router.register("secrets", Secrets, basename="secrets")
    return [tool.name for tool in tools_for(name, discover(router.urls))]


@pytest.fixture
def ada(database: None) -> User:
    user = User.objects.create_user("ada")
    user.user_permissions.add(Permission.objects.get(codename="add_site"))
    return user


def test_a_user_is_listed_what_the_views_would_let_them(ada: User) -> None:
    assert listed("ada") == ["sites__create", "sites__list", "sites__retrieve"]
    User.objects.create_superuser("root")
    assert len(listed("root")) == 12


def test_the_holder_of_a_token_is_listed_what_is_in_its_scopes(ada: User) -> None:
    token, _ = issue(ada, name="reader", scopes="django/sites__*:read")
    assert listed("token:reader") == ["sites__list", "sites__retrieve"]
    revoke(token)
    assert listed("token:reader") == []


def test_a_token_with_which_nobody_would_be_let_in_is_listed_nothing(ada: User) -> None:
    AgentToken.objects.create(user=ada, name="late", scopes="*", digest="1", expires=timezone.now())
    AgentToken.objects.create(user=ada, name="odd", scopes="no:such:scope", digest="2")
    assert listed("token:late") == listed("token:odd") == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bob", "There is no user of that name. A token is named with token: before its name."),
        ("token:bob", "There is no token of that name. The admin lists them under: Tokens for agents."),
    ],
)
def test_nobody_is_one_line(name: str, said: str) -> None:
    with pytest.raises(NoSuchCaller) as nobody:
        listed(name)
    assert str(nobody.value) == said
