"""Authentication by the project's own authenticators: each set runs once per request for reads, and once for writes."""

import logging
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

_OF_THE_MESSAGE = ("CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_CONTENT_LENGTH", "HTTP_CONTENT_TYPE")
Authenticators: TypeAlias = tuple[type[BaseAuthentication], ...]
REFUSALS = (APIException, PermissionDenied, Http404)  # the exceptions with which REST framework and Django refuse
_log = logging.getLogger("handfast.django")


def make_probe_request(request: HttpRequest, method: str) -> HttpRequest:
    """A request for probing authenticators and permissions; what they set on it stays off the caller's own request."""
    # Not copy(): a WSGI request leaves out its `environ` there, and with it whether it came over HTTPS.
    other = type(request).__new__(type(request))
    other.__dict__.update(request.__dict__)
    other.__dict__.pop("headers", None)  # made from META when they are first asked for
    meta = {key: value for key, value in request.META.items() if key not in _OF_THE_MESSAGE}
    nothing = QueryDict("")
    # The body and the query of the address are meant for the endpoint and not for any view.
    other.__dict__.update(
        method=method,
        META={**meta, "REQUEST_METHOD": method, "QUERY_STRING": ""},
        GET=nothing,
        _body=b"",
        _post=nothing,
        _files=MultiValueDict(),
    )
    return other


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The answer of a set of authenticators. Any: users, tokens and authenticators of the project's own."""

    user: Any = None
    auth: Any = None
    authenticator: Any = None
    error: Exception | None = None  # one of REFUSALS

    def put_on(self, request: Request) -> None:
        """Sets the answer on a request as if it had run the authenticators itself. Raises: what they raised."""
        if self.error is not None:
            raise self.error
        request.user, request.auth = self.user, self.auth
        request._authenticator = self.authenticator  # type: ignore[attr-defined]  # missing in the stubs


class Authentication:
    """The answers for one request, each computed once: passwords are slow to check, and tokens cost a query."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._known: dict[tuple[Authenticators, bool], Authenticated] = {}

    def known(self, authenticators: Authenticators, method: str) -> Authenticated:
        """The answer of these authenticators, apart for reads and writes: to write, a session needs a CSRF token."""
        is_safe = method in SAFE_METHODS
        key = (authenticators, is_safe)
        if key not in self._known:
            self._known[key] = self._asked(authenticators, "GET" if is_safe else "POST")
        return self._known[key]

    def _asked(self, authenticators: Authenticators, method: str) -> Authenticated:
        try:
            request = Request(
                make_probe_request(self._request, method), authenticators=[each() for each in authenticators]
            )
            return Authenticated(request.user, request.auth, request.successful_authenticator)
        except REFUSALS as error:
            return Authenticated(error=error)
        except Exception as error:  # noqa: BLE001 - the edge to the project's code: each view decides what becomes of it
            _log.warning("access.authenticator_raised: %s. Nobody is known by it.", type(error).__name__)
            _log.debug("access.authenticator_raised", exc_info=True)
            return Authenticated(error=AuthenticationFailed())
