"""The caller of a request: the user of one of our tokens, or the user that the project's own authenticators know."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.http import HttpRequest
from rest_framework.settings import api_settings

from handfast.core.access.scopes import Scope, ScopeError
from handfast.core.call.guardrails import has_text
from handfast.core.events import SECURITY_AUTH_FAILED
from handfast.django.access import tokens
from handfast.django.access.authentication import Authentication

if TYPE_CHECKING:
    from handfast.django.models import AgentToken

_LONGEST: Final = 256  # characters that are recorded of a caller
_REASONS: Final = {
    "unknown": "This token is not known here. Send it whole, or ask for another.",
    "revoked": "This token was revoked. Ask for another.",
    "expired": "This token has expired. Ask for another.",
    "inactive_user": "The user whom this token acts for is not active. Ask the operator.",
}

_log = logging.getLogger("handfast.django")


class CallerRefused(Exception):
    """The request is refused, with the answer to send; `reason` is for the record."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str], *, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers)
        self.reason = reason


@dataclass(frozen=True)  # without slots: the user is cached when it is first read
class ApiCaller:
    """The caller of one request. `scopes` limit it in addition to the views' own permissions; None: no limit."""

    request: HttpRequest
    token: "AgentToken | None" = None
    scopes: tuple[Scope, ...] | None = None
    authentication: Authentication = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "authentication", Authentication(self.request))

    @cached_property
    def user(self) -> Any:  # Any: a user of the project's own model
        """The user of the token, or the one that the project's default authenticators know; None without one."""
        if self.token is not None:
            return self.token.user
        # As for a read: a session without a CSRF token may change nothing, but its user is known.
        classes: Any = api_settings.DEFAULT_AUTHENTICATION_CLASSES  # Any: their names, to the stubs
        user = self.authentication.known(tuple(classes), "GET").user
        return user if getattr(user, "is_authenticated", False) else None


def identify_caller(request: HttpRequest) -> ApiCaller:
    """Finds the caller. With one of our tokens the request acts for its user from here on; the rest is left to views.

    Raises: CallerRefused, for a token of ours that is not good.
    """
    plain = _own_token(request)
    if plain is None:
        return ApiCaller(request)
    token = tokens.find(plain)
    if token is None:
        raise _refused("unknown", None)
    reason = _objection(token)
    if reason is not None:
        raise _refused(reason, token)
    tokens.note_use(token)
    _act_as(token, request)
    return ApiCaller(request, token, _scopes(token))


def label(caller: ApiCaller) -> str:
    """The caller's name in records: `token:<name>`, `user:<name>` or `user-id:<key>`, unique; empty if unknown."""
    if caller.token is not None:
        return f"token:{caller.token.name}"
    user = caller.user
    name = user.get_username() if hasattr(user, "get_username") else ""
    if has_text(name) and _is_recorded_whole(f"user:{name}"):
        return f"user:{name}"
    key = getattr(user, "pk", None)
    return "" if key is None else f"user-id:{key}"


def _is_recorded_whole(text: str) -> bool:
    """Whether records keep the text as it is: one that they cut or clean might become the name of another caller."""
    return len(text) <= _LONGEST and text.isprintable() and text == text.strip()


def _own_token(request: HttpRequest) -> str | None:
    scheme, _, rest = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    plain = rest.strip()
    return plain if scheme.lower() == "bearer" and plain.startswith(tokens.PREFIX) else None


def _objection(token: "AgentToken") -> str | None:
    if token.revoked is not None:
        return "revoked"
    if token.is_expired:
        return "expired"
    return None if getattr(token.user, "is_active", True) else "inactive_user"


def _refused(reason: str, token: "AgentToken | None") -> CallerRefused:
    """The refusal of a token. It says why, but only to a caller that has the token's text."""
    _log.warning("%s: %s %s", SECURITY_AUTH_FAILED, reason, "" if token is None else token.prefix)
    message = _REASONS[reason]
    challenge = f'Bearer error="invalid_token", error_description="{message}"'
    return CallerRefused(401, message, {"WWW-Authenticate": challenge}, reason=reason)


def _act_as(token: "AgentToken", request: Any) -> None:  # Any: attributes that REST framework looks for
    """Sets the token's user on the request: views check their own permissions, but run none of their authenticators."""
    user = token.user

    async def auser() -> Any:  # Any: as above; what async views ask, and the session's user otherwise
        return user

    request.user, request.auser = user, auser
    request._force_auth_user, request._force_auth_token = user, token


def _scopes(token: "AgentToken") -> tuple[Scope, ...]:
    try:
        return token.granted()
    except ScopeError:
        _log.warning("access.scopes_unreadable: %s cannot be used. Write its scopes again.", token)
        return ()
