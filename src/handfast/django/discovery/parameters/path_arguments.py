"""The parameters of a path as arguments of a tool: their names and their schemas."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from django.urls import converters
from rest_framework.settings import api_settings

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.parameters.paths import PathParameter, PathTemplate
from handfast.django.discovery.schemas.constraints import whole
from handfast.django.discovery.schemas.json_schemas import described, options
from handfast.django.discovery.schemas.model_values import Model, follow, key_schema, lookup_schema
from handfast.django.discovery.views.bare_view import AskedView
from handfast.django.discovery.views.routes import PathForm, Route, group_patterns

_DIGITS: Final = re.compile(r"(?:\\d|\[0-9\]|\[\\d\])(?:\+|\{\d+(?:,\d*)?\})")
_WHOLE: Final[Json] = {"type": "integer", "minimum": 0}
_ANY_KEY: Final[Json] = {"type": ["string", "integer"]}
_PARENT: Final = re.compile(r"^(?:parent_lookup_)?(\w+?)(?:__|_)?(?:pk|id|slug|uuid)?$")


def path_template(route: Route, forms: tuple[PathForm, ...], asked: AskedView, taken: Collection[str]) -> PathTemplate:
    """The path of a tool; `taken` are the names that its query or its body need."""
    own = _lookup_group(asked, forms)
    allowed = group_patterns(route.regex)
    parameters = tuple(
        _version(group, asked, taken)
        or PathParameter(
            _argument(group, asked.model if group == own else None, taken),
            group,
            _schema(group, allowed[group], route, asked, is_own=group == own),
            all(group in form.groups for form in forms),
            group == own,
        )
        for group in dict.fromkeys(group for form in forms for group in form.groups)
    )
    return PathTemplate(_shown(forms[0], parameters), forms, parameters, route.regex, route.converters, route.extra)


def _version(group: str, asked: AskedView, taken: Collection[str]) -> PathParameter | None:
    """The parameter for the version of the API, where that is in the path; it may have a default and few values."""
    scheme = asked.view.request.versioning_scheme
    if scheme is None or group != scheme.version_param:
        return None
    default = scheme.default_version
    schema: Json = {"type": "string"} if not scheme.allowed_versions else options(scheme.allowed_versions)
    schema = described({**schema, **({"default": default} if default else {})}, "The version of the API")
    return PathParameter(_argument(group, None, taken), group, schema, is_required=not default, default=default)


def _lookup_group(asked: AskedView, forms: tuple[PathForm, ...]) -> str | None:
    """The group that selects one of the view's own rows: in a viewset by its `detail`, else where it ends the path."""
    group = getattr(asked.view, "lookup_url_kwarg", None) or getattr(asked.view, "lookup_field", "pk")
    groups, detail = forms[0].groups, getattr(asked.view, "detail", None)
    if detail is not None:
        return group if detail and group in groups else None
    ends_with_it = bool(groups) and groups[-1] == group and not forms[0].literals[-1].strip("/")
    return group if ends_with_it else None


def _argument(group: str, model: Model | None, taken: Collection[str]) -> str:
    """The name of the argument. `pk` becomes the name of the key in rows, as in REST framework's own schemas."""
    name = group
    if group == "pk" and model is not None and api_settings.SCHEMA_COERCE_PATH_PK:
        name = _root_key(model)
    while name in taken:
        name = f"lookup_{name}"
    return name


def _root_key(model: Model) -> str:
    """The name of a model's key; for a model that extends another, that of the base: rows do not show the link."""
    key: Any = model._meta.pk  # Any: columns of several kinds
    while getattr(key.remote_field, "parent_link", False):
        key = key.remote_field.model._meta.pk
    return str(key.name)


def _schema(group: str, allowed: str, route: Route, asked: AskedView, *, is_own: bool) -> Json:
    own = lookup_schema(asked.model, getattr(asked.view, "lookup_field", "pk")) if is_own else {}
    schema = _by_converter(route.converters.get(group))
    # In a text of digits leading zeros count.
    if schema is None and own.get("type") != "string" and _DIGITS.fullmatch(allowed):
        schema = _WHOLE
    schema = schema or own or _by_relation(group, asked.model) or _ANY_KEY
    written = whole(allowed)
    if "string" in schema["type"] and "format" not in schema and written is not None:
        schema = {**schema, "pattern": written}
    return described(schema, _words(asked) if is_own else None)


def _by_converter(converter: object) -> Json | None:
    if isinstance(converter, converters.IntConverter):
        return _WHOLE
    if isinstance(converter, converters.UUIDConverter):
        return {"type": "string", "format": "uuid"}
    return None


def _by_relation(group: str, model: Model | None) -> Json | None:
    """The schema of a parent's key: for `site_pk` before `devices/`, of the model that the rows refer to by `site`."""
    match = _PARENT.fullmatch(group)
    related = follow(model, [match[1]]).related if match is not None else None
    return None if related is None or group.endswith("slug") else key_schema(related)


def _words(asked: AskedView) -> str:
    if asked.model is None:
        return ""
    field = getattr(asked.view, "lookup_field", "pk")
    return f"Which {asked.model._meta.verbose_name}, by its {'id' if field == 'pk' else field.replace('__', ' ')}"


def _shown(form: PathForm, parameters: Iterable[PathParameter]) -> str:
    names = {each.group: each.name for each in parameters}
    return "".join(part if place % 2 == 0 else f"{{{names[part]}}}" for place, part in enumerate(form.parts))
