"""The view: one POST in, one answer out, the same under WSGI and ASGI, and never a page of HTML."""

import logging
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from django.contrib.auth.decorators import login_not_required
from django.core.signals import got_request_exception
from django.db.transaction import non_atomic_requests
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from handfast.core.call.policy import InputErrors
from handfast.django.access import ApiCaller, CallerRefused, identify_caller
from handfast.django.conf import AdapterSettings, read_settings
from handfast.django.endpoint.incoming import HttpRefusal, check_media, check_page, own_headers, read_body
from handfast.django.service.service import service
from handfast.toolkit.protocol.methods import Offer, answer_body
from handfast.toolkit.protocol.requests import SERVER_FAILED
from handfast.wire.codes import INTERNAL_ERROR
from handfast.wire.replies import error_reply

_log = logging.getLogger("handfast.django")

_ALLOW: Final = {"Allow": "POST, OPTIONS"}
_POST_ONLY: Final = "This is an MCP endpoint: send a JSON-RPC message with POST. There are no streams and no sessions."
_REDIRECTED: Final = "If you did, a redirect has made it a GET: use the address with its slash."


@csrf_exempt  # `identify_caller` decides who may call, and pages of other origins are refused before
@login_not_required
@non_atomic_requests
def endpoint(request: HttpRequest) -> HttpResponse:
    try:
        return _answer(request)
    except HttpRefusal as problem:
        return _json(problem.status, error_reply(None, problem.code, problem.text), problem.headers)
    except Exception as error:  # noqa: BLE001 - the outermost edge: Django would answer with a page
        body = error_reply(None, INTERNAL_ERROR, SERVER_FAILED, data={"request_id": _report(error, request)})
        return _json(500, body)


def _answer(request: HttpRequest) -> HttpResponse:
    """The answer to a request. Raises: HttpRefusal."""
    settings = read_settings()
    check_page(request, settings.allowed_origins)
    if request.method == "OPTIONS":
        return _bare(204, _ALLOW)
    if request.method != "POST":
        text = f"{_POST_ONLY} {_REDIRECTED}" if request.method == "GET" else _POST_ONLY
        raise HttpRefusal(405, text, headers=_ALLOW)
    try:
        caller = identify_caller(request)
    except CallerRefused as problem:
        raise HttpRefusal(problem.status, problem.message, headers=problem.headers) from None
    check_media(request)
    body = read_body(request, settings.max_body_bytes)
    reply = answer_body(body, own_headers(request), _offer(caller, settings))
    return _json(reply.status, reply.body) if reply.body else _bare(reply.status)


def _json(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> HttpResponse:
    # With Content-Length, so that the connection can be used again where no middleware adds it.
    return HttpResponse(body, "application/json", status, headers={"Content-Length": str(len(body)), **(headers or {})})


def _bare(status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    response = HttpResponse(status=status, headers=headers)
    del response["Content-Type"]
    return response


def _offer(caller: ApiCaller, settings: AdapterSettings) -> Offer:
    """What the caller is offered. Discovery runs when a client asks for tools, so that its handshake does not wait."""
    return Offer(
        name=settings.name,
        version=settings.version,
        instructions=settings.instructions,
        refuses_by_protocol=settings.errors is InputErrors.PROTOCOL,
        list_tools=lambda: service().tools(caller),
        call=lambda name, arguments: service().call(name, arguments, caller),
        mirrored=lambda name: service().mirrored.get(name),
        report=lambda error: _report(error, caller.request),
    )


def _report(error: Exception, request: HttpRequest) -> str:
    """Logs an error, sends Django's signal for unexpected exceptions, and returns the request id that the log has."""
    request_id = uuid4().hex
    extra = {"request_id": request_id, "status_code": 500, "request": request}
    _log.error("A request failed with %s (request %s)", type(error).__name__, request_id, exc_info=error, extra=extra)
    got_request_exception.send_robust(sender=endpoint, request=request)
    return request_id
