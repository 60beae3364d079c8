"""The places of the MCP endpoint among the urls of a project."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import URLResolver, get_resolver, get_script_prefix
from django.urls.resolvers import LocalePrefixPattern
from django.utils.regex_helper import normalize

APP_NAME = "handfast"


@dataclass(frozen=True, slots=True)
class Mount:
    """One url of the endpoint. `path` has no leading slash; None where it has parameters, which only a caller knows."""

    path: str | None
    callback: Any  # Any: a view function, and whatever the project has put around it
    has_language: bool = False

    @property
    def address(self) -> str | None:
        """The path as a client sends it, with the script prefix of the whole project."""
        return None if self.path is None else get_script_prefix() + self.path


def has_urls() -> bool:
    """Whether the project has urls; a project that only runs commands may have none."""
    return bool(getattr(settings, "ROOT_URLCONF", None))


def find_mounts(resolver: URLResolver | None = None) -> list[Mount]:
    """Every url of the endpoint, in the order of the project's urls."""
    if resolver is None and not has_urls():
        return []
    return list(_mounts(resolver or get_resolver(), "", has_language=False, is_inside=False))


def _mounts(resolver: URLResolver, outer: str, *, has_language: bool, is_inside: bool) -> Iterator[Mount]:
    for pattern in resolver.url_patterns:
        own: Any = pattern.pattern  # Any: the stubs confuse `regex` with the descriptor that makes it
        regex = outer + str(own.regex.pattern).removeprefix("^")
        language = has_language or isinstance(pattern.pattern, LocalePrefixPattern)
        if isinstance(pattern, URLResolver):
            inside = is_inside or pattern.app_name == APP_NAME
            yield from _mounts(pattern, regex, has_language=language, is_inside=inside)
        elif is_inside:
            yield Mount(_path(regex), pattern.callback, language)


def _path(regex: str) -> str | None:
    """The path that the regex matches, the longest where a slash at its end is optional; None if it has parameters."""
    try:
        plain = [text for text, parameters in normalize(regex) if not parameters]
    except (ValueError, IndexError):
        return None
    return max(plain, key=len, default=None)
