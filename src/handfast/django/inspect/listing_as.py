"""The tools that would be listed to a caller: a user, or the holder of a token."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest

from handfast.core.access.scopes import Scope, ScopeError
from handfast.django.access import ApiCaller, usable_tools
from handfast.django.discovery.tool import ViewTool

if TYPE_CHECKING:
    from handfast.django.models import AgentToken

_HOLDER: Final = "token:"  # as records name the holder of one


class NoSuchCaller(LookupError):
    """No user or token has the name."""


def tools_for(name: str, tools: Iterable[ViewTool]) -> list[ViewTool]:
    """The tools listed to `name`, the name of a user or `token:` and that of a token. Raises: NoSuchCaller."""
    caller = _token_holder(name.removeprefix(_HOLDER)) if name.startswith(_HOLDER) else _user(name)
    return usable_tools(caller, tools, caller.request)


def _user(name: str) -> ApiCaller:
    users: Any = get_user_model()._default_manager  # Any: of the project's own model
    try:
        user = users.get_by_natural_key(name)
    except ObjectDoesNotExist:
        raise NoSuchCaller("There is no user of that name. A token is named with token: before its name.") from None
    return ApiCaller(_request(user, None))


def _token_holder(name: str) -> ApiCaller:
    from handfast.django.models import AgentToken

    try:
        token = AgentToken.objects.select_related("user").get(name=name)
    except ObjectDoesNotExist:
        raise NoSuchCaller("There is no token of that name. The admin lists them under: Tokens for agents.") from None
    return ApiCaller(_request(token.user, token), token, _scopes(token))


def _scopes(token: "AgentToken") -> tuple[Scope, ...]:
    """The scopes of a token; empty for a token that would be refused."""
    is_good = token.revoked is None and not token.is_expired and getattr(token.user, "is_active", True)
    try:
        return token.granted() if is_good else ()
    except ScopeError:
        return ()


def _request(user: Any, token: Any) -> HttpRequest:  # Any: attributes that REST framework looks for
    """A request as the endpoint would receive it from this user."""
    request: Any = HttpRequest()  # Any: as above
    request.method = "POST"
    request.META |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80"}
    request.user = request._force_auth_user = user
    request._force_auth_token = token
    found: HttpRequest = request
    return found
