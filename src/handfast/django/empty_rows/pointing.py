"""The rows of other tables that point at a row, and what deleting it would do to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.db import models, router
from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Cast, Coalesce

from handfast.django.discovery.schemas.model_values import Model

_FATES: Final = {
    "CASCADE": "deleted with it",
    "PROTECT": "keep it from being deleted",
    "RESTRICT": "keep it from being deleted",
    "DO_NOTHING": "left pointing at nothing",
}
_LET_GO: Final = "kept, without it"


@dataclass(frozen=True, slots=True)
class PointingRows:
    """How many rows point at one, by which key, and what becomes of them."""

    label: str
    count: int
    fate: str


@dataclass(frozen=True, slots=True)
class Relation:
    """Everything that points at a model by one key."""

    label: str
    model: Model
    key: str
    target: str
    fate: str
    only: tuple[tuple[str, str], ...] = ()  # for keys that point at more than one model

    def count(self) -> Coalesce:
        """How many rows point at the one that is being looked at."""
        outer: Any = OuterRef(self.target)  # Any: an expression like any other
        if self.only:
            # A key for any kind of row is often a text, whatever the keys of this kind are.
            outer = Cast(outer, self.model._meta.get_field(self.key))  # type: ignore[arg-type]  # a column
        rows = self.model._base_manager.filter(**{self.key: outer}, **dict(self.only)).order_by()
        counted = rows.values(self.key).annotate(number=Count("*")).values("number")
        return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def relations_to(model: Model) -> tuple[Relation, ...]:
    """What Django goes through when it deletes a row, links of many to many and generic relations too.

    And what it passes over: rows that can be about any other.
    """
    pointing = [
        one.field  # type: ignore[union-attr]  # the other side of a key
        for one in model._meta.get_fields(include_hidden=True)
        if one.auto_created and not one.concrete and (one.one_to_one or one.one_to_many)
    ]
    keys = [_by_key(key) for key in pointing if len(key.related_fields) == 1]
    generic = [_generic(model, one) for one in model._meta.private_fields if hasattr(one, "bulk_related_objects")]
    known = {one.label for one in generic}
    return (*keys, *generic, *(one for one in _about_anything(model) if one.label not in known))


def _by_key(key: Any) -> Relation:  # Any: a foreign key of any model
    (own, target), *_ = key.related_fields
    fate = _FATES.get(getattr(key.remote_field.on_delete, "__name__", ""), _LET_GO)
    return Relation(f"{key.model._meta.label}.{key.name}", key.model, own.attname, target.attname, fate)


def _generic(model: Model, relation: Any) -> Relation:  # Any: contenttypes need not be installed
    related = relation.remote_field.model
    only = _only(model, relation.content_type_field_name)
    key = relation.object_id_field_name
    return Relation(f"{related._meta.label}.{key}", related, key, "pk", _FATES["CASCADE"], only)


def _about_anything(model: Model) -> Iterator[Relation]:
    """Rows with a generic key, of which nothing on this model tells."""
    beside = router.db_for_write(model)
    for other in apps.get_models():
        if not other._meta.managed or router.db_for_write(other) != beside:
            continue  # a table that is elsewhere cannot be asked in the same query
        for generic in other._meta.private_fields:
            kind, key = getattr(generic, "ct_field", None), getattr(generic, "fk_field", None)
            if kind and key and _holds_key_of(other._meta.get_field(key), model):
                label = f"{other._meta.label}.{key}"
                yield Relation(label, other, key, "pk", _FATES["DO_NOTHING"], _only(model, kind))


def _holds_key_of(column: Any, model: Model) -> bool:  # Any: a column of any type
    """A text holds any key; a number only numbers, and a database need not let the others be compared with it."""
    own: Any = model._meta.pk  # Any: as above
    while own.remote_field is not None:
        own = own.target_field
    kinds = (models.IntegerField, models.UUIDField)
    return all(isinstance(own, kind) for kind in kinds if isinstance(column, kind))


def _only(model: Model, kind: str) -> tuple[tuple[str, str], ...]:
    """Those that say they are about this model."""
    own = model._meta.concrete_model or model
    return ((f"{kind}__app_label", own._meta.app_label), (f"{kind}__model", str(own._meta.model_name)))
