"""Where a project has put the MCP endpoint among its urls."""

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
    """One place of it. `path` is without its first slash; None where it has parameters that only a caller knows."""

    path: str | None
    callback: Any  # Any: a view function, and whatever the project has put around it
    has_language: bool = False

    @property
    def address(self) -> str | None:
        """The path as a client has it, below the prefix that the server has for the whole project."""
        return None if self.path is None else get_script_prefix() + self.path


def has_urls() -> bool:
    """Whether the project has any; one that only runs commands need not."""
    return bool(getattr(settings, "ROOT_URLCONF", None))


def find_mounts(resolver: URLResolver | None = None) -> list[Mount]:
    """Every place, in the order of the urls."""
    if resolver is None and not has_urls():
        return []
    return list(_mounts(resolver or get_resolver(), "", has_language=False, is_inside=False))


def _mounts(resolver: URLResolver, outer: str, *, has_language: bool, is_inside: bool) -> Iterator[Mount]:
    for pattern in resolver.url_patterns:
        own: Any = pattern.pattern  # Any: the stubs take `regex` for the descriptor that makes it
        regex = outer + str(own.regex.pattern).removeprefix("^")
        language = has_language or isinstance(pattern.pattern, LocalePrefixPattern)
        if isinstance(pattern, URLResolver):
            inside = is_inside or pattern.app_name == APP_NAME
            yield from _mounts(pattern, regex, has_language=language, is_inside=inside)
        elif is_inside:
            yield Mount(_path(regex), pattern.callback, language)


def _path(regex: str) -> str | None:
    """The one way to write the path that the regex matches, the longest where a slash at its end is optional."""
    try:
        plain = [text for text, parameters in normalize(regex) if not parameters]
    except (ValueError, IndexError):
        return None
    return max(plain, key=len, default=None)
