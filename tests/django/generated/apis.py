"""An API for a generated world: serializers with fields of every kind, viewsets, pages and filters."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import models
from django.urls import include, path
from django_filters.rest_framework import DjangoFilterBackend
from hypothesis import strategies as st
from rest_framework import filters, pagination, serializers, viewsets
from rest_framework.routers import SimpleRouter

from tests.django.generated.columns import Column
from tests.django.generated.computed import computed
from tests.django.generated.worlds import World

Fields = dict[str, Callable[[], Any]]

PAGES: tuple[Any, ...] = (
    None,
    type("Numbers", (pagination.PageNumberPagination,), {"page_size": 2}),
    type("Sizes", (pagination.PageNumberPagination,), {"page_size": None, "page_size_query_param": "limit"}),
    pagination.LimitOffsetPagination,
    type("Offsets", (pagination.LimitOffsetPagination,), {"default_limit": 1}),
    type("Cursors", (pagination.CursorPagination,), {"page_size": 1, "ordering": "pk"}),
)
ABSENT: tuple[dict[str, Any], ...] = ({}, {"default": None}, {"default": "none"}, {"allow_null": True})


@st.composite
def apis(draw: st.DrawFn, world: World) -> bool:
    """Puts the API behind the urls of the world; whether a thing names others by links."""
    back = _some(draw, _things_of_an_owner(world))
    own = ["pk", *(each.name for each in world.owner_columns), "worth"]
    owner = _serializer("OwnerSerializer", world.owner, [*own, *back], **back)
    is_linked = draw(st.booleans())
    thing = _thing_serializer(draw, world, _serializer("InnerSerializer", world.owner, own), is_linked=is_linked)
    router = SimpleRouter()
    router.register("owners", _viewset(draw, world.owner, owner, world.owner_columns), basename="owner")
    router.register("things", _viewset(draw, world.thing, thing, world.thing_columns), basename="thing")
    world.urls.urlpatterns = [path("", include(router.urls))]  # type: ignore[attr-defined]  # as a module of urls has it
    return is_linked


def _thing_serializer(draw: st.DrawFn, world: World, inner: Any, *, is_linked: bool) -> Any:
    extras = _some(draw, _computed_fields(world) | _owner_fields(draw, world, inner) | _other_fields(world, inner))
    depth = {"depth": 1} if not is_linked and draw(st.integers(0, 4)) == 0 else {}
    base = serializers.HyperlinkedModelSerializer if is_linked else serializers.ModelSerializer
    names = [*world.names, *(["url"] if is_linked else []), *extras]
    methods = {"get_method": draw(computed()), "save": _save_without_secret}
    return _serializer("ThingSerializer", world.thing, names, base=base, meta=depth, **methods, **extras)


def _serializer(
    name: str,
    model: Any,
    fields: list[str],
    *,
    base: Any = serializers.ModelSerializer,
    meta: Any = None,
    **members: Any,
) -> Any:
    options = {"model": model, "fields": fields, **(meta or {})}
    return type(name, (base,), {"Meta": type("Meta", (), options), "__module__": __name__, **members})


def _save_without_secret(self: Any, **kwargs: Any) -> Any:
    self.validated_data.pop("secret", None)
    return serializers.ModelSerializer.save(self, **kwargs)


def _some(draw: st.DrawFn, possible: Fields) -> dict[str, Any]:
    return {name: make() for name, make in sorted(possible.items()) if draw(st.booleans())}


def _computed_fields(world: World) -> Fields:
    found: Fields = {
        "called": partial(serializers.ReadOnlyField, source="total"),
        "secret": partial(serializers.CharField, write_only=True, required=False),
        "method": serializers.SerializerMethodField,
    }
    for each in world.thing_columns:
        if each.kind.is_json:
            found[f"text_{each.name}"] = partial(serializers.CharField, source=each.name, read_only=True)
            found[f"raw_{each.name}"] = partial(serializers.ReadOnlyField, source=each.name)
        if each.has_choices:
            found[f"shown_{each.name}"] = partial(serializers.ReadOnlyField, source=f"get_{each.name}_display")
    return found


def _owner_fields(draw: st.DrawFn, world: World, inner: Any) -> Fields:
    found: Fields = {
        "owner_shown": partial(serializers.StringRelatedField, source="owner"),
        "owner_nested": partial(inner, source="owner", read_only=True),
        "owner_worth": partial(serializers.ReadOnlyField, source="owner.worth"),
    }
    for each in (column for column in world.owner_columns if column.kind.is_json):
        source = f"owner.{each.name}"
        absent = draw(st.sampled_from(ABSENT))
        found[f"owner_raw_{each.name}"] = partial(serializers.ReadOnlyField, source=source)
        found[f"owner_text_{each.name}"] = partial(serializers.CharField, source=source, read_only=True, **absent)
        found[f"owner_by_{each.name}"] = partial(
            serializers.SlugRelatedField, source="owner", slug_field=each.name, read_only=True
        )
        found[f"only_{each.name}"] = partial(serializers.ReadOnlyField, source=f"only.{each.name}")
        found[f"friends_by_{each.name}"] = partial(
            serializers.SlugRelatedField, source="friends", slug_field=each.name, many=True, read_only=True
        )
    return {name: make for name, make in found.items() if _relation_of(name) in world.names}


def _other_fields(world: World, inner: Any) -> Fields:
    found: Fields = {
        "friends_nested": partial(inner, source="friends", many=True, read_only=True),
        "friends_shown": partial(serializers.StringRelatedField, source="friends", many=True),
        "parent_owner": partial(inner, source="parent.owner", read_only=True),
        "parent_parts": partial(serializers.PrimaryKeyRelatedField, source="parts", many=True, read_only=True),
    }
    for each in (column for column in world.thing_columns if column.kind.is_json):
        found[f"parent_{each.name}"] = partial(serializers.ReadOnlyField, source=f"parent.{each.name}")
    return {name: make for name, make in found.items() if _relation_of(name) in world.names}


def _relation_of(field: str) -> str:
    return field.partition("_")[0]


def _things_of_an_owner(world: World) -> Fields:
    """What an owner shows of the things that point to it."""
    short = _serializer("ShortSerializer", world.thing, ["pk", world.thing_columns[0].name])
    found: Fields = {
        "things": partial(short, many=True, read_only=True),
        "things_keys": partial(serializers.PrimaryKeyRelatedField, source="things", many=True, read_only=True),
    }
    if "only" in world.names:
        found["only_thing"] = partial(short, read_only=True)
        found["only_key"] = partial(serializers.PrimaryKeyRelatedField, source="only_thing", read_only=True)
    return found


def _viewset(draw: st.DrawFn, model: Any, serializer: Any, columns: list[Column]) -> Any:
    known = [each.name for each in columns if isinstance(each.make(), models.CharField | models.IntegerField)]
    return type(
        f"{model.__name__}ViewSet",
        (viewsets.ModelViewSet,),
        {
            "queryset": model._default_manager.all(),
            "serializer_class": serializer,
            "pagination_class": draw(st.sampled_from(PAGES)),
            "filter_backends": (DjangoFilterBackend, filters.OrderingFilter),
            "filterset_fields": known,
            "ordering_fields": ("pk", *known),
        },
    )
