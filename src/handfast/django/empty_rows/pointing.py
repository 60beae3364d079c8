"""The rows of other tables that point at a row, and what deleting it would do to them."""

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Cast, Coalesce

from handfast.django.discovery.model_values import Model

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
    """What Django itself goes through when it deletes a row: also links of many to many, and generic relations."""
    pointing = [
        one.field  # type: ignore[union-attr]  # the other side of a key
        for one in model._meta.get_fields(include_hidden=True)
        if one.auto_created and not one.concrete and (one.one_to_one or one.one_to_many)
    ]
    keys = [_by_key(key) for key in pointing if len(key.related_fields) == 1]
    generic = [_generic(model, one) for one in model._meta.private_fields if hasattr(one, "bulk_related_objects")]
    return (*keys, *generic)


def _by_key(key: Any) -> Relation:  # Any: a foreign key of any model
    (own, target), *_ = key.related_fields
    fate = _FATES.get(getattr(key.remote_field.on_delete, "__name__", ""), _LET_GO)
    return Relation(f"{key.model._meta.label}.{key.name}", key.model, own.attname, target.attname, fate)


def _generic(model: Model, relation: Any) -> Relation:  # Any: contenttypes need not be installed
    related = relation.remote_field.model
    kind = relation.content_type_field_name
    only = ((f"{kind}__app_label", model._meta.app_label), (f"{kind}__model", str(model._meta.model_name)))
    key = relation.object_id_field_name
    return Relation(f"{related._meta.label}.{key}", related, key, "pk", _FATES["CASCADE"], only)
