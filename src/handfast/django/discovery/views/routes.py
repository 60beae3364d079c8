"""The url patterns of a project, flattened: every view with its whole pattern."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import LocalePrefixPattern, RegexPattern
from django.utils.regex_helper import normalize
from rest_framework.settings import api_settings

from handfast.django.discovery.drf_types import ViewFunction

UrlConf = str | ModuleType | Sequence[URLPattern | URLResolver]

_SUFFIX_CONVERTER = "FormatSuffixConverter"  # REST framework makes a class of this name for `.json` and its like
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True, slots=True)
class Route:
    """One url pattern with all that it is included under: `regex` matches a whole path, its first slash included."""

    regex: str
    callback: ViewFunction
    converters: Mapping[str, Any] = field(default_factory=dict)  # Any: Django asks for two methods and no base class
    extra: Mapping[str, object] = field(default_factory=dict)  # further arguments that the patterns pass to the view
    language: str = ""  # a prefix by language, which is not part of a tool's name
    namespaces: tuple[str, ...] = ()
    url_name: str | None = None

    @property
    def is_format_suffix(self) -> bool:
        """Whether this is only another spelling of the route before it: `contacts.json`."""
        kwarg = api_settings.FORMAT_SUFFIX_KWARG
        if not kwarg:
            return False
        return rf"\.(?P<{kwarg}>" in self.regex or type(self.converters.get(kwarg)).__name__ == _SUFFIX_CONVERTER


@dataclass(frozen=True, slots=True)
class PathForm:
    """One way to write a path: literals and the names of groups in turn, beginning and ending with a literal."""

    parts: tuple[str, ...]

    @property
    def literals(self) -> tuple[str, ...]:
        return self.parts[::2]

    @property
    def groups(self) -> tuple[str, ...]:
        return self.parts[1::2]


def walk_routes(urlconf: UrlConf | None = None) -> Iterator[Route]:
    """Every route of a url configuration, in the order in which Django tries them."""
    yield from _walk(_resolver(urlconf), Route("", _nothing))


def _resolver(urlconf: UrlConf | None) -> URLResolver:
    if urlconf is None or isinstance(urlconf, str):
        return get_resolver(urlconf)
    return URLResolver(RegexPattern(r"^/"), urlconf)


def _nothing() -> None:
    """A placeholder for the view while there is none."""


def _walk(resolver: URLResolver, outer: Route) -> Iterator[Route]:
    here = _below(outer, resolver)
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern, here)
        else:
            yield _below(here, pattern)


def _below(outer: Route, inner: URLPattern | URLResolver) -> Route:
    pattern = inner.pattern
    is_resolver = isinstance(inner, URLResolver)
    extra = inner.default_kwargs if isinstance(inner, URLResolver) else inner.default_args
    namespace = inner.namespace if isinstance(inner, URLResolver) else None
    return Route(
        regex=outer.regex + _regex_of(pattern).removeprefix("^"),
        callback=outer.callback if isinstance(inner, URLResolver) else inner.callback,
        converters={**outer.converters, **pattern.converters},
        extra={**outer.extra, **extra},
        language=outer.language + (pattern.language_prefix if isinstance(pattern, LocalePrefixPattern) else ""),
        namespaces=(*outer.namespaces, namespace) if namespace else outer.namespaces,
        url_name=None if is_resolver else inner.pattern.name,  # type: ignore[union-attr]  # only resolvers have prefixes
    )


def _regex_of(pattern: Any) -> str:  # Any: the stubs confuse `regex` with the descriptor that makes it
    if isinstance(pattern, RegexPattern):
        return str(pattern)  # as it is written, without compiling it
    return str(pattern.regex.pattern)


def read_forms(regex: str) -> tuple[PathForm, ...]:
    """Every way to write a path that the regex matches, the longest first; none where Django could not reverse it."""
    try:
        possible = normalize(regex)
    except (ValueError, IndexError):
        return ()
    forms = [PathForm(tuple(_PLACEHOLDER.split(text))) for text, _ in possible if text]
    return tuple(sorted(forms, key=lambda form: -len(form.parts)))


_OPENING = re.compile(r"\(\?P<(\w+)>")


def group_names(regex: str) -> list[str]:
    """The names of the groups of a regex, including repeated ones."""
    return _OPENING.findall(regex)


@lru_cache(maxsize=1024)
def group_patterns(regex: str) -> Mapping[str, str]:
    """The pattern inside each named group of a regex, as it is written."""
    return {match[1]: regex[match.end() : _closing(regex, match.end())] for match in _OPENING.finditer(regex)}


def _closing(regex: str, start: int) -> int:
    """The position where the group that is open at `start` ends."""
    depth, place, in_class = 1, start, False
    while place < len(regex):
        char = regex[place]
        if char == "\\":
            place += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            place += regex.startswith(("]", "^]"), place + 1) + regex.startswith("^]", place + 1)
        else:
            depth += (char == "(") - (char == ")")
            if depth == 0:
                break
        place += 1
    return place
