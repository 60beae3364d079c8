"""A row that is named by a text: by what the field goes by itself, or by a name of its own."""

from typing import Any, Final

from django.db.models import Model, Q
from rest_framework import relations
from rest_framework.exceptions import ValidationError

from handfast.django.discovery.drf_types import AnyQuerySet
from handfast.django.invocation.rows.by_fields import no_row, several_rows
from handfast.django.invocation.rows.lookup_fields import as_stored, naming_columns

_MOST_READ: Final = 10  # rows that one text may fit, by their key and by their names


def row_by_text(field: Any, rows: AnyQuerySet, text: str) -> Model | None:  # Any: a relation
    """None where the text is what the field takes itself, or can be nothing else: no query then. Raises: NoRow."""
    own = _own_lookup(field, rows)
    if own is None and text.startswith(("http:", "https:", "/")):
        return None
    columns = naming_columns(rows.model)  # type: ignore[arg-type]  # a class, which has a hash
    names = {column.name: _stored(column, text) for column in columns if column.name != own}
    meant = {name: stored for name, stored in names.items() if stored is not None}
    if not meant:
        return None
    key = None if own is None else _own_value(field, rows, own, text)
    if key is None:
        return _best(rows, meant)
    # A UUID is nobody's name.
    return _best(rows, {str(own): key, **meant}) if isinstance(key, str | int) else None


def _own_lookup(field: Any, rows: AnyQuerySet) -> str | None:  # Any: a relation
    """What the field goes by itself; a link is nothing that a row is stored under."""
    if isinstance(field, relations.SlugRelatedField):
        return str(field.slug_field)
    return None if isinstance(field, relations.HyperlinkedRelatedField) else str(rows.model._meta.pk.name)


def _own_value(field: Any, rows: AnyQuerySet, own: str, text: str) -> Any:  # Any: a relation; what a column holds
    pk_field = getattr(field, "pk_field", None)
    if pk_field is not None:
        try:
            return pk_field.to_internal_value(text)
        except ValidationError:
            return None
    stored = text if "__" in own else _stored(rows.model._meta.get_field(own), text)
    # Python reads "1_0" and " 10 " as ten; that is rather somebody's name.
    return None if isinstance(stored, int) and str(stored) != text else stored


def _stored(column: Any, text: str) -> Any:  # Any: a column, and what it holds
    try:
        return as_stored(column, text)
    except ValueError:
        return None


def _best(rows: AnyQuerySet, meant: dict[str, Any]) -> Model:  # Any: what columns hold
    """One query for all that a text may be; a row that has it as its key comes before one that has it as its name."""
    condition = Q()
    for name, stored in meant.items():
        condition |= Q((name, stored))
    found = rows.filter(condition)
    read: list[Model] = list(found[:_MOST_READ])
    for name, stored in meant.items():
        same = [row for row in read if getattr(row, name, None) == stored]
        if len(same) == 1:
            return same[0]
    if len(read) == 1:
        return read[0]  # equal to the database, if not to the letter
    if not read:
        raise no_row(rows, meant, "or")
    count = len(read) if len(read) < _MOST_READ else found.count()
    raise several_rows(rows, count, meant, "; send the id of one of them", "or")
