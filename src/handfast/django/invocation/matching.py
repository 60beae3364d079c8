"""What Django's resolver would say about the url of a call, without asking it each time."""

from collections.abc import Mapping
from typing import Any

from django.urls import Resolver404, ResolverMatch, get_resolver, get_urlconf

from handfast.django.discovery.parameters.paths import Target
from handfast.django.discovery.tool import ViewTool


class UrlMatch:
    """The match of one tool's url pattern; only what is captured differs between calls."""

    def __init__(self, tool: ViewTool) -> None:
        self._tool = tool
        self._fixed: Mapping[str, Any] | None = None  # Any: arguments of ResolverMatch

    def of(self, path_info: str, target: Target) -> ResolverMatch:
        extra = self._tool.path.extra
        captured = {name: value for name, value in target.kwargs.items() if name not in extra}
        return ResolverMatch(
            self._tool.callback,
            (),
            dict(target.kwargs),
            captured_kwargs=captured,
            extra_kwargs=dict(extra),
            **self._rest(path_info),
        )

    def _rest(self, path_info: str) -> Mapping[str, Any]:  # Any: arguments of ResolverMatch
        if self._fixed is not None:
            return self._fixed
        try:
            found = get_resolver(get_urlconf()).resolve(path_info)
        except Resolver404:
            return self._by_name()
        if found.func is not self._tool.callback:
            # Another pattern is first with this very path; the next call may be clearer.
            return self._by_name()
        self._fixed = {
            "url_name": found.url_name,
            "app_names": found.app_names,
            "namespaces": found.namespaces,
            "route": found.route,
            "tried": found.tried,
        }
        return self._fixed

    def _by_name(self) -> Mapping[str, Any]:  # Any: as above
        *namespaces, name = (self._tool.url_name or "").split(":")
        return {"url_name": name or None, "namespaces": namespaces, "route": self._tool.route}
