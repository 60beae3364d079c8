"""Calls a view as Django's handler would: in its transactions, awaited if async, with a status for each exception."""

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.apps import apps
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.core.handlers.base import BaseHandler
from django.core.signals import got_request_exception
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, router, transaction
from django.db.models import ProtectedError, RestrictedError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.utils.log import log_response

from handfast.django.discovery.drf_types import ViewFunction
from handfast.django.invocation.refusals import crash_error

_handler: Final = BaseHandler()  # never loaded with middleware: that has run for the outer request
_KEPT: Final = "other rows refer to this one and keep it from being deleted"
# What Django answers for an exception that is not a crash.
_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (Http404, 404),
    (PermissionDenied, 403),
    (MultiPartParserError, 400),
    (BadRequest, 400),
    (SuspiciousOperation, 400),
)


def call_view(callback: ViewFunction, request: HttpRequest, kwargs: Mapping[str, object]) -> HttpResponseBase:
    """The rendered answer of a view. An exception becomes the answer that Django would give, without a page."""
    try:
        response = _called(callback, request, kwargs)
    except Exception as error:  # noqa: BLE001 - the edge to the project's code, as in Django's own handler; it logs
        response = answer_for(error, request)
    if response.status_code >= 400:
        log_response("%s: %s", response.reason_phrase, request.path, response=response, request=request)  # type: ignore[arg-type]  # any response will do
    return response


def _called(callback: ViewFunction, request: HttpRequest, kwargs: Mapping[str, object]) -> HttpResponseBase:
    view = _handler.make_view_atomic(callback)
    if iscoroutinefunction(view):
        view = async_to_sync(view)
    response: Any = view(request, **kwargs)  # Any: a view may return what it likes, which is checked right here
    _handler.check_response(response, callback)
    if callable(getattr(response, "render", None)) and not response.is_rendered:
        response = response.render()
    if not isinstance(response, HttpResponseBase):
        raise TypeError("The view, or what is called when its answer is rendered, returned something else.")
    return response


def answer_for(error: Exception, request: HttpRequest) -> HttpResponseBase:
    """An answer with the status that Django would send; a crash is logged and signalled as Django does."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    response = HttpResponse(status=status)
    if status == 500:
        got_request_exception.send(sender=None, request=request)
        if settings.DEBUG_PROPAGATE_EXCEPTIONS:
            raise error
    if isinstance(error, SuspiciousOperation):
        log_response(
            str(error),
            exception=error,
            request=request,
            response=response,
            level="error",
            logger=logging.getLogger(f"django.security.{type(error).__name__}"),
        )
    else:
        log_response(
            "%s: %s",
            response.reason_phrase,
            request.path,
            response=response,
            request=request,
            exception=error if status == 500 else None,
        )
    if isinstance(error, ProtectedError | RestrictedError):
        # The operator sees the same crash as over HTTP; an agent gets an error that it can act on.
        response.status_code = 409
        response.data = {"detail": _KEPT}  # type: ignore[attr-defined]  # as a response of REST framework's has it
    return response


@contextmanager
def one_transaction(request: HttpRequest) -> Iterator[Collection[str]]:
    """Keeps all that is done inside, or none of it. Raises: ToolError, for what a database refuses only at the end."""
    databases = _written_databases()
    try:
        with open_savepoint(databases):
            yield databases
    except DatabaseError as error:
        answer_for(error, request)
        raise crash_error() from None


@contextmanager
def open_savepoint(databases: Collection[str]) -> Iterator[None]:
    """Opens a transaction on each database, or a savepoint where one is open."""
    with ExitStack() as stack:
        for alias in databases:
            stack.enter_context(transaction.atomic(using=alias))
        yield
        if any(transaction.get_rollback(using=alias) for alias in databases):
            # The view reports success, but its changes will be rolled back.
            raise crash_error()


def _written_databases() -> list[str]:
    """The databases that routers send writes to, and those on which Django itself would open a transaction."""
    found = {router.db_for_write(model) for model in apps.get_models()} if router.routers else {DEFAULT_DB_ALIAS}
    found |= {alias for alias, options in connections.settings.items() if options["ATOMIC_REQUESTS"]}
    return sorted(alias for alias in found if alias in connections.settings)
