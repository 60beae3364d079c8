"""Makes the path of a call from its arguments, and reads it back as Django would."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from django.utils.http import RFC3986_SUBDELIMS, escape_leading_slashes

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.views.routes import PathForm, Route, group_names, group_patterns, read_forms

_LARGEST_KEY: Final = 2**63 - 1


class PathRefused(ValueError):
    """An argument does not fit the path of its tool; `parameter` is its name."""

    def __init__(self, parameter: str) -> None:
        super().__init__(f"Argument '{parameter}' does not fit the address of this tool. Send one as its schema says.")
        self.parameter = parameter


class AddressUnclear(ValueError):
    """No path can be made from a url pattern; the text says why."""


@dataclass(frozen=True, slots=True)
class PathParameter:
    """A part of the path that the caller chooses: `name` is the argument, `group` the keyword of the view."""

    name: str
    group: str
    schema: Json
    is_required: bool = True
    is_lookup: bool = False  # it selects one of the view's own rows
    default: str | None = None  # in the path where the caller leaves the argument out


@dataclass(frozen=True, slots=True)
class UrlTarget:
    """The target of one call: the path, encoded as in a url, and the keywords that Django would pass to the view."""

    path: str
    kwargs: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """A path with places for arguments, without the script prefix, which depends on the request."""

    route: str
    forms: tuple[PathForm, ...]
    parameters: tuple[PathParameter, ...]
    regex: str
    converters: Mapping[str, Any]  # Any: Django's converters have no base class
    extra: Mapping[str, object]

    def target(self, arguments: Mapping[str, object]) -> UrlTarget:
        """The target of a call with these arguments. Raises: PathRefused."""
        said = {each.group: _given(each, arguments.get(each.name, each.default)) for each in self.parameters}
        given = {group: value for group, value in said.items() if value is not None}
        for form in self.forms:
            if given.keys() >= set(form.groups):
                return self._written(form, given)
        raise PathRefused(next(each.name for each in self.parameters if each.group not in given))

    def _written(self, form: PathForm, given: Mapping[str, object]) -> UrlTarget:
        texts = {group: self._text(group, given[group]) for group in form.groups}
        path = "".join(part if place % 2 == 0 else texts[part] for place, part in enumerate(form.parts))
        match = _compiled(self.regex).search(path)
        if match is None or any(match[group] != text for group, text in texts.items()):
            raise PathRefused(self._misfit(texts))
        url = escape_leading_slashes(quote(path, safe=f"{RFC3986_SUBDELIMS}/~:@"))
        return UrlTarget(url, {**self._kwargs(match), **self.extra})

    def _text(self, group: str, value: object) -> str:
        try:
            return str(self.converters[group].to_url(value)) if group in self.converters else str(value)
        except (ValueError, TypeError, AttributeError):
            raise PathRefused(self._argument(group)) from None

    def _kwargs(self, match: re.Match[str]) -> dict[str, object]:
        found = {group: text for group, text in match.groupdict().items() if text is not None}
        try:
            return {
                group: self.converters[group].to_python(text) if group in self.converters else text
                for group, text in found.items()
            }
        except ValueError:
            raise PathRefused(self._misfit(found)) from None

    def _misfit(self, texts: Mapping[str, str]) -> str:
        """The argument to name in the refusal: the first that does not match its own group, else the first of all."""
        allowed = group_patterns(self.regex)
        misfits = (group for group, text in texts.items() if not re.fullmatch(allowed[group], text))
        return self._argument(next(misfits, next(iter(texts))))

    def _argument(self, group: str) -> str:
        return next(each.name for each in self.parameters if each.group == group)


def _given(parameter: PathParameter, value: object) -> object:
    """Makes `1.0` a whole number, and refuses numbers that are too large for a key, for which databases would raise."""
    if parameter.schema.get("type") != "integer" or not isinstance(value, int | float):
        return value
    if abs(value) > _LARGEST_KEY:
        raise PathRefused(parameter.name)
    return int(value)


@lru_cache(maxsize=4096)
def _compiled(regex: str) -> re.Pattern[str]:
    """Compiles a regex when a path is first made, so that discovery does not wait for thousands of them."""
    return re.compile(f"^{regex}")


def path_forms(route: Route) -> tuple[PathForm, ...]:
    """Every way to write the path of a route, the longest first. Raises: AddressUnclear."""
    groups = group_names(route.regex)
    if len(set(groups)) < len(groups):
        raise AddressUnclear("one name stands for two of its parameters")
    forms = read_forms(route.regex)
    if not forms:
        raise AddressUnclear("it has alternatives, or parts that cannot be written back")
    usable = tuple(form for form in forms if set(form.groups) <= set(groups))
    if not usable:
        raise AddressUnclear("it has a parameter without a name")
    return usable
