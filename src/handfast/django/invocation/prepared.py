"""What is known of a tool before any call: the form of its view's requests, and arguments that need conversion."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from django.urls import Resolver404, ResolverMatch, get_resolver, get_urlconf
from rest_framework.parsers import FileUploadParser
from rest_framework.utils.mediatypes import media_type_matches

from handfast.django.discovery.parameters.paths import UrlTarget
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.views.renderers import JSON, json_type
from handfast.django.invocation.places import ArgumentPlaces

Form: TypeAlias = Literal["json", "form", "bare_file"]
_FORMS: Final = frozenset(("multipart/form-data", "application/x-www-form-urlencoded"))
_MOST: Final = 10_000  # tools that are remembered; five times as many as the largest project seen has


class UrlMatch:
    """The resolver's match of one tool's url pattern; only the captured values differ between calls."""

    def __init__(self, tool: ViewTool) -> None:
        self._tool = tool
        self._fixed: Mapping[str, Any] | None = None  # Any: arguments of ResolverMatch

    def of(self, path_info: str, target: UrlTarget) -> ResolverMatch:
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
            # Another pattern matches this path first; the path of the next call may be unambiguous.
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


@dataclass(frozen=True, slots=True)
class Prepared:
    """One tool, ready to be called."""

    tool: ViewTool
    accept: str
    content_type: str
    form: Form  # of a body without files, as the view reads it
    places: ArgumentPlaces
    match: UrlMatch


_known: dict[int, Prepared] = {}


def prepare(tool: ViewTool) -> Prepared:
    """The prepared form of a tool, made once and found by the tool's identity, since a tool cannot be hashed."""
    found = _known.get(id(tool))
    if found is not None and found.tool is tool:
        return found
    if len(_known) >= _MOST:
        _known.clear()
    made = _known[id(tool)] = _made(tool)
    return made


def _made(tool: ViewTool) -> Prepared:
    parsers = list(tool.initkwargs.get("parser_classes", tool.view.parser_classes) or ())
    renderers = tool.initkwargs.get("renderer_classes", tool.view.renderer_classes) or ()
    content_type = json_type(parsers) or JSON
    return Prepared(
        tool,
        accept=json_type(renderers) or JSON,
        content_type=content_type,
        form=_form(parsers, content_type),
        places=ArgumentPlaces(tool.input_schema if tool.body else {}),
        match=UrlMatch(tool),
    )


def _form(parsers: list[Any], content_type: str) -> Form:  # Any: parser classes
    """The form in which a view reads JSON, by the first parser that accepts it; some take any body for a file."""
    reader = next((parser for parser in parsers if media_type_matches(parser.media_type, content_type)), None)
    if reader is not None and not issubclass(reader, FileUploadParser):
        return "json"
    if any(parser.media_type in _FORMS for parser in parsers):
        return "form"
    return "json" if reader is None else "bare_file"
