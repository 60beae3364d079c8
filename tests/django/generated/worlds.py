"""Worlds of two generated models, one of which points to the other: their tables and their rows."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from django.db import connection, models
from django.test.utils import isolate_apps
from django.urls import set_urlconf
from hypothesis import strategies as st

from tests.django.generated.columns import Column, columns
from tests.django.generated.computed import computed

# Models that are made inside are known to nobody outside.
isolated = partial(isolate_apps, "tests.django.project")

KEYS: tuple[Callable[[], dict[str, Any]], ...] = (
    dict,
    lambda: {"id": models.UUIDField(primary_key=True, default=uuid.uuid4)},
    lambda: {"code": models.CharField(primary_key=True, max_length=40, default=lambda: uuid.uuid4().hex)},
)


@dataclass(frozen=True, slots=True)
class World:
    owner: Any
    thing: Any
    owner_columns: list[Column]
    thing_columns: list[Column]
    urls: ModuleType = field(default_factory=lambda: ModuleType("generated_urls"))

    @property
    def names(self) -> list[str]:
        """The columns and relations of a thing, without those that others have to it."""
        return [each.name for each in self.thing._meta.get_fields() if each.concrete or not each.auto_created]

    def columns_of(self, model: Any) -> list[Column]:
        return self.owner_columns if model is self.owner else self.thing_columns


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Only inside isolated()."""
    owner_columns, thing_columns = draw(columns("o", 3)), draw(columns("t", 8))
    owner = _model(draw, "Owner", owner_columns, {"worth": property(draw(computed()))})
    thing = _model(draw, "Thing", thing_columns, {"total": draw(computed()), **_relations(draw, owner)})
    return World(owner, thing, owner_columns, thing_columns)


def _model(draw: st.DrawFn, name: str, columns: list[Column], more: dict[str, Any]) -> Any:
    meta = type("Meta", (), {"app_label": "project", "db_table": f"generated_{name.lower()}", "ordering": ("pk",)})
    own = {**draw(st.sampled_from(KEYS))(), **{each.name: each.make() for each in columns}, **more}
    shown = {"__str__": lambda self: f"{name} {self.pk}"}
    return type(name, (models.Model,), {"__module__": __name__, "Meta": meta, **shown, **own})


def _relations(draw: st.DrawFn, owner: Any) -> dict[str, Any]:
    is_held = draw(st.booleans())  # or a row may point to what is not there
    on_delete = models.CASCADE if is_held else models.DO_NOTHING
    found: dict[str, Any] = {
        "owner": models.ForeignKey(
            owner, on_delete, null=draw(st.booleans()), db_constraint=is_held, related_name="things"
        )
    }
    if draw(st.booleans()):
        found["friends"] = models.ManyToManyField(owner, related_name="friend_of", blank=draw(st.booleans()))
    if draw(st.booleans()):
        found["only"] = models.OneToOneField(owner, models.CASCADE, null=True, related_name="only_thing")
    if draw(st.booleans()):
        found["parent"] = models.ForeignKey("self", models.CASCADE, null=True, related_name="parts")
    return found


@contextmanager
def tables(world: World) -> Iterator[None]:
    """The tables of a world, and its urls as those of the project."""
    set_urlconf(world.urls)  # type: ignore[arg-type]  # the stubs know names of modules only
    with connection.schema_editor() as editor:
        editor.create_model(world.owner)
        editor.create_model(world.thing)
    try:
        yield
    finally:
        set_urlconf(None)
        with connection.schema_editor() as editor:
            editor.delete_model(world.thing)
            editor.delete_model(world.owner)


# --- rows ------------------------------------------------------------------------------------------------------------


@st.composite
def rows(draw: st.DrawFn, world: World) -> None:
    """A few rows of both models, with values that no validator would let through."""
    owners = [_row(draw, world.owner, world.owner_columns) for _ in range(draw(st.integers(1, 3)))]
    things: list[Any] = []
    for place in range(draw(st.integers(1, 3))):
        more: dict[str, Any] = {"owner": draw(st.sampled_from(_possible_owners(world, owners)))}
        if "only" in world.names:
            more["only"] = draw(st.sampled_from([None, *owners[place : place + 1]]))
        if "parent" in world.names:
            more["parent"] = draw(st.sampled_from([None, *things]))
        things.append(_row(draw, world.thing, world.thing_columns, **more))
        if "friends" in world.names:
            things[-1].friends.set(draw(st.lists(st.sampled_from(owners), unique=True)))


def _row(draw: st.DrawFn, model: Any, columns: list[Column], **more: Any) -> Any:
    return model._default_manager.create(**{each.name: draw(each.stored) for each in columns}, **more)


def _possible_owners(world: World, owners: list[Any]) -> list[Any]:
    relation, key = world.thing._meta.get_field("owner"), world.owner._meta.pk
    gone = [] if relation.db_constraint else [world.owner(pk=key.get_default() if key.has_default() else 2**40)]
    return [*owners, *gone, *([None] if relation.null else [])]
