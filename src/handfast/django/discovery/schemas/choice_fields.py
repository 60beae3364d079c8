"""Choices of serializers: single and multiple, plain, grouped and blank."""

from collections.abc import Iterable
from typing import Final

from rest_framework import fields

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.schemas.json_schemas import described, options, plain_scalar, types_of

_MOST_LABELS: Final = 20  # what a label adds is worth reading for a handful of choices
_MOST_EXAMPLES: Final = 20


def choice_input(field: fields.ChoiceField) -> Json:
    values = _values(field)
    blank = [""] if field.allow_blank and "" not in values else []
    return described(options([*values, *blank]), labels(field.choices.items()))


def choice_output(field: fields.ChoiceField) -> Json:
    """Any value of the choices' kind: a row may hold one from before the choices changed."""
    values = _values(field)
    # Text of no choice stays text, and a blank or foreign value of another kind is not worth a promise.
    return {**types_of([*values, ""]), "examples": values[:_MOST_EXAMPLES]} if values else {}


def multiple_input(field: fields.MultipleChoiceField) -> Json:
    bounds = {} if field.allow_empty else {"minItems": 1}
    schema = {"type": "array", "items": options(_values(field)), **bounds}
    return described(schema, labels(field.choices.items()))


def multiple_output(field: fields.MultipleChoiceField) -> Json:
    return {"type": "array", "items": types_of([*_values(field), ""])}


def _values(field: fields.ChoiceField) -> list[object]:
    return [plain_scalar(key) for key in field.choices]


def labels(choices: Iterable[tuple[object, object]]) -> str:
    """What the choices mean, where their labels say more than they do."""
    pairs = [(str(plain_scalar(key)), " ".join(str(label).split())) for key, label in choices]
    telling = [f"{key} = {label}" for key, label in pairs if key and _plain(key) != _plain(label)]
    return ", ".join(telling) if 0 < len(telling) <= _MOST_LABELS else ""


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
