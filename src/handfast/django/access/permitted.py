"""Which tools a caller may use: those in the scopes of its token whose views would let it in."""

import logging
from collections.abc import Hashable, Iterable
from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from handfast.core.access.scopes import kind_of, match
from handfast.django.access.authentication import REFUSALS, Authentication, make_probe_request
from handfast.django.access.callers import ApiCaller
from handfast.django.conf import read_settings
from handfast.django.discovery.problems import dotted_name
from handfast.django.discovery.tool import ViewTool

_log = logging.getLogger("handfast.django")


def is_in_scope(caller: ApiCaller, tool: ViewTool) -> bool:
    """Whether the scopes of the caller's token include the tool. A tool out of scope does not exist for the caller."""
    if caller.scopes is None:
        return True
    return match(caller.scopes, server=read_settings().name, tool=tool.name, kind=kind_of(tool.annotations))


def may_use(caller: ApiCaller, tool: ViewTool) -> bool:
    """Whether the tool is listed to the caller."""
    return bool(usable_tools(caller, [tool], caller.request))


def usable_tools(caller: ApiCaller, tools: Iterable[ViewTool], request: HttpRequest) -> list[ViewTool]:
    """The tools that are listed to the caller, in their order.

    The views are asked before there is a call, so their permissions for single objects are checked in the call itself.
    """
    asking = _Asking(request, caller.authentication)
    return [tool for tool in tools if is_in_scope(caller, tool) and asking.permits(tool)]


class _Asking:
    """The answers of the views for one listing; each is asked once for an action and a method."""

    def __init__(self, request: HttpRequest, authentication: Authentication) -> None:
        self._request = request
        self._authentication = authentication
        self._answers: dict[Hashable, bool] = {}
        self._broken: set[type[APIView]] = set()

    def permits(self, tool: ViewTool) -> bool:
        # By identity: what a view was made with need not be hashable, and the tools keep it alive.
        made_with = tuple((name, id(value)) for name, value in tool.initkwargs.items())
        key = (tool.view, made_with, tool.handler, tool.method)
        if key not in self._answers:
            self._answers[key] = self._asked(tool)
        return self._answers[key]

    def _asked(self, tool: ViewTool) -> bool:
        try:
            view = _view(tool, self._request)
            self._authenticate(view)
            view.check_permissions(view.request)
        except REFUSALS:
            return False
        except Exception as error:  # noqa: BLE001 - the edge to the project's code: what cannot be decided is not allowed
            self._note(tool, error)
            return False
        return True

    def _authenticate(self, view: APIView) -> None:
        is_forced = getattr(self._request, "_force_auth_user", None) is not None
        has_own_way = type(view).get_authenticators is not APIView.get_authenticators
        if not is_forced and not has_own_way:
            known = self._authentication.known(tuple(view.authentication_classes), view.request.method or "")
            known.put_on(view.request)
        view.perform_authentication(view.request)

    def _note(self, tool: ViewTool, error: Exception) -> None:
        if tool.view in self._broken:
            return
        self._broken.add(tool.view)
        _log.warning(
            "access.permissions_raised: %s raised %s and is not listed. Let it decide without an object.",
            dotted_name(tool.view),
            type(error).__name__,
        )
        _log.debug("access.permissions_raised", exc_info=True)


def _view(tool: ViewTool, outer: HttpRequest) -> APIView:
    """The view of a tool with the caller's request, in the state in which it checks permissions."""
    view: Any = tool.view(**tool.initkwargs)  # Any: attributes that only viewsets have
    view.args, view.format_kwarg = (), None
    # The arguments in the path are not known yet, and views read them by name.
    view.kwargs = {**{each.group: each.default for each in tool.path.parameters}, **tool.path.extra}
    method = tool.method.lower()
    if isinstance(view, ViewSetMixin):
        view.action_map = {method: tool.handler}
        setattr(view, method, getattr(view, tool.handler))
    view.request = make_probe_request(outer, tool.method)
    view.request = view.initialize_request(view.request, **view.kwargs)
    _settle(view, view.request)
    found: APIView = view
    return found


def _settle(view: APIView, request: Request) -> None:
    """Sets the renderer and version that a view negotiates before permissions: the same for all requests from us."""
    for renderer in view.get_renderers()[:1]:
        request.accepted_renderer, request.accepted_media_type = renderer, renderer.media_type
    scheme = view.versioning_class() if view.versioning_class is not None else None
    request.version, request.versioning_scheme = getattr(scheme, "default_version", None), scheme
