"""Arguments outside a schema: an unknown key, a wrapped payload, a wrong type, a missing field, at every level."""

from collections.abc import Iterator
from typing import Any

from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit.testing.generate.arguments import Arguments
from handfast.toolkit.testing.judging import is_valid
from handfast.toolkit.testing.problems import shape_of

_UNKNOWN = "not_a_declared_field"
_WRAPPERS = ("data", "payload", "wrapped_arguments")
_SAMPLES: tuple[Any, ...] = (None, True, 7, 0.5, "text", [], {}, ["text"], {"a": 1})  # Any: one JSON value of each kind


def outside(schema: CompiledSchema, valid: Arguments) -> Iterator[tuple[str, Arguments]]:
    """What is wrong, and arguments that are; made from arguments that are right."""
    declared = schema.declared
    if not declared.is_open(_UNKNOWN):
        yield "an unknown key", {**valid, _UNKNOWN: 1}
        wrapper = next(name for name in _WRAPPERS if name not in declared.names)
        yield "a payload wrapped in an object", {wrapper: valid}
    for name in declared.names:
        for sample in _SAMPLES:
            if not is_valid(schema, wrong := {**valid, name: sample}):
                yield f"'{name}' as {_kind(sample)}", wrong
    for what, wrong in _changed(valid, ""):
        if not is_valid(schema, wrong):
            yield what, wrong


def _changed(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # Any: JSON
    """Each object inside with a key less or a key more, each value with one of another type."""
    if isinstance(value, dict):
        if path:
            yield f"an unknown key in '{path}'", {**value, _UNKNOWN: 1}
        for name, inner in value.items():
            where = f"{path}/{name}".lstrip("/")
            yield f"no '{where}'", {key: other for key, other in value.items() if key != name}
            yield from ((what, {**value, name: wrong}) for what, wrong in _replaced(inner, where))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:1]):
            yield from ((what, [wrong, *value[1:]]) for what, wrong in _replaced(inner, f"{path}/{place}"))


def _replaced(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # Any: JSON
    yield from _changed(value, path)
    if "/" in path:  # those of the root are tried one by one
        yield from ((f"'{path}' as {_kind(sample)}", sample) for sample in _SAMPLES)


def _kind(sample: object) -> str:
    return f"a value of the shape {shape_of(sample)}"
