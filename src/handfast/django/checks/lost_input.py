"""Writes that lose what an agent sends, or store what it did not send; reported only where the code proves it."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from django.db.models import CharField, FileField, FilePathField, Model, TextField
from django.db.models.fields.proxy import OrderWrt
from django.db.models.signals import post_init, pre_init, pre_save
from rest_framework.serializers import BaseSerializer, HiddenField, ListSerializer
from rest_framework.utils.model_meta import get_field_info

from handfast.django.checks.catalogue import CheckFinding, CheckId
from handfast.django.checks.key_reads import body_keys_read, keys_read
from handfast.django.checks.writes import Write
from handfast.django.discovery.drf_types import AnyField, AnyModelField
from handfast.django.discovery.problems import dotted_name
from handfast.django.discovery.views.overridden import is_own_way

_KeyOf: TypeAlias = Callable[[AnyField], str]
_PLACES: Final = {"create": 1, "update": 2}  # the position of the argument that holds what was sent, `self` being 0


def lost_input(write: Write) -> Iterator[CheckFinding]:
    """The findings about one write."""
    for rule in (_empty_call, _dropped_fields, _nothing_writable, _unreachable, _nested):
        yield from rule(write)


def _empty_call(write: Write) -> Iterator[CheckFinding]:
    is_optional = bool(write.fields) and not any(field.required for field in write.fields.values())
    takes_all = (
        write.validates_as_stock and is_own_way(write.tool.view, write.tool.handler) and not write.may_be_refused
    )
    if write.method == "create" and is_optional and takes_all:
        yield CheckFinding(
            CheckId.EMPTY_CALL_CREATES,
            "Has no field that must be sent: a call without any, or with their names misspelt, makes an empty row.",
            "Make a field required, or refuse an empty call in validate().",
            write.where,
        )


# --- fields that are never read --------------------------------------------------------------------------------------


def _dropped_fields(write: Write) -> Iterator[CheckFinding]:
    for where, read, key_of in _readers(write):
        unread = [] if read is None else _unread(write, read, key_of)
        if unread:
            names = ", ".join(f"'{name}'" for name in unread)
            yield CheckFinding(
                CheckId.FIELDS_DROPPED,
                f"Never reads {names}, which the schema asks for: the call succeeds and the value is lost.",
                "Store it, make the field read-only, or take it out of the serializer.",
                where,
            )


def _readers(write: Write) -> Iterator[tuple[str, frozenset[str] | None, _KeyOf]]:
    """The project's own code that reads what was sent: where it is, the keys it reads, and the key of a field there."""
    cls: Any = type(write.serializer)  # Any: the stubs know its methods on instances only
    view, handler = write.tool.view, write.tool.handler
    if not is_own_way(cls, "to_internal_value"):
        yield f"{dotted_name(cls)}.to_internal_value", keys_read(cls.to_internal_value, 1), _name
    if not is_own_way(cls, write.method):
        yield f"{dotted_name(cls)}.{write.method}", keys_read(getattr(cls, write.method), _PLACES[write.method]), _key
    if not is_own_way(view, handler):
        yield f"{dotted_name(view)}.{handler}", body_keys_read(getattr(view, handler)), _name


def _unread(write: Write, read: frozenset[str], key_of: _KeyOf) -> list[str]:
    """Fields whose key is not among those read, and which no other code of the project mentions."""
    known = read | write.mentions()
    return [
        name
        for name, field in write.fields.items()
        if known.isdisjoint((name, key_of(field)))
        and not hasattr(write.serializer, f"validate_{name}")
        and field.source != "*"
    ]


def _key(field: AnyField) -> str:
    return str(field.source).split(".")[0]


def _name(field: AnyField) -> str:
    return str(field.field_name)


# --- fields that are missing -----------------------------------------------------------------------------------------


def _nothing_writable(write: Write) -> Iterator[CheckFinding]:
    hidden = [one for one in write.serializer.fields.values() if isinstance(one, HiddenField)]
    if write.fields or hidden or not (write.stores_as_stock and write.validates_as_stock):
        return
    outcome = "makes an empty row" if write.method == "create" else "succeeds and changes nothing"
    yield CheckFinding(
        CheckId.NOTHING_WRITABLE,
        f"Has no field that can be written: every call of {write.tool.name} {outcome}.",
        "Let a field be written, or leave the tool out with HANDFAST['EXCLUDE'] or @mcp_tool(exclude=True).",
        write.where,
    )


def _unreachable(write: Write) -> Iterator[CheckFinding]:
    model = write.model
    is_stock = write.stores_as_stock and write.validates_as_stock
    if write.method != "create" or model is None or not is_stock or not _saves_as_stock(model):
        return
    reached = {_key(field) for field in write.serializer.fields.values() if not field.read_only}
    if "*" in reached:
        return
    for column in model._meta.concrete_fields:
        if _must_be_given(column) and not reached & {column.name, column.attname}:
            is_text = isinstance(column, CharField | TextField | FileField | FilePathField)
            yield CheckFinding(
                CheckId.REQUIRED_UNREACHABLE,
                f"Cannot be sent '{column.name}', which {model._meta.label} needs: "
                + ("every row is made with an empty one." if is_text else "every call fails."),
                "Let it be written, give the column a default, or fill it in in perform_create().",
                write.where,
            )


def _saves_as_stock(model: type[Model]) -> bool:
    manager: Any = model._default_manager  # Any: the stubs hide the class of its querysets
    makers = [(model, "save"), (model, "save_base"), (model, "__init__"), (type(manager), "create")]
    is_own = all(is_own_way(cls, name) for cls, name in [*makers, (manager._queryset_class, "create")])
    return is_own and not any(signal.has_listeners(model) for signal in (pre_init, post_init, pre_save))


def _must_be_given(column: AnyModelField) -> bool:
    is_filled = column.null or column.blank or column.has_default() or column.has_db_default() or column.primary_key
    is_made = column.generated or getattr(column, "auto_now", False) or getattr(column, "auto_now_add", False)
    # A column that fills itself in does so in `pre_save`; Django itself fills in the order among siblings.
    return not is_filled and not is_made and not isinstance(column, OrderWrt) and is_own_way(type(column), "pre_save")


def _nested(write: Write) -> Iterator[CheckFinding]:
    if write.model is None or not (write.stores_as_stock and write.validates_as_stock):
        return
    relations = get_field_info(write.model).relations
    nested = [name for name, field in write.fields.items() if _key(field) in relations and _is_object(field)]
    if nested:
        names = ", ".join(f"'{name}'" for name in nested)
        yield CheckFinding(
            CheckId.NESTED_WRITE_FAILS,
            f"Takes {names} and cannot store it: REST framework refuses nested writes, so the call fails.",
            f"Write {write.method}(), or make the field read-only.",
            write.where,
        )


def _is_object(field: AnyField) -> bool:
    """Whether a field's value becomes a dict or a list of dicts, and not a row that the project's own code found."""
    if not isinstance(field, BaseSerializer):
        return len(field.source_attrs) > 1
    is_stock = all(is_own_way(type(field), name) for name in ("to_internal_value", "run_validation"))
    return isinstance(field, ListSerializer) or is_stock
