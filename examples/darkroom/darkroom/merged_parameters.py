"""The parameters of all primitives as one closed model: what `apply_primitive` publishes for its `parameters`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le
from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from darkroom.parameters import PRIMITIVES
from darkroom.vocabulary import parameters_of
from handfast.toolkit import Args

_Uses = list[tuple[str, FieldInfo]]  # the primitives that take a parameter, each with how it declares it


def _merged() -> type[Args]:
    uses: dict[str, _Uses] = {}
    for primitive, model in PRIMITIVES.items():
        for name, field in model.model_fields.items():
            uses.setdefault(name, []).append((primitive, field))
    fields: dict[str, Any] = {name: _field(name, found) for name, found in uses.items()}  # Any: types and their Field
    return create_model(
        "PrimitiveArguments", __base__=Args, __doc__="Parameters; each primitive takes its own.", **fields
    )


def _field(name: str, uses: _Uses) -> tuple[Any, Any]:  # Any: a type and its Field
    """A parameter that may be left out. It has no default of its own: that is the primitive's business."""
    taken = Field(
        default=None,
        description="; ".join(f"{primitive}: {_expected(primitive, name)}" for primitive, _ in uses),
        json_schema_extra=_without_default,
    )
    first = uses[0][1]
    bounds = first.metadata if len(uses) == 1 else list(_widest([field for _, field in uses]))
    return Annotated[(first.annotation, *bounds)] if bounds else first.annotation, taken


def _without_default(schema: dict[str, Any]) -> None:  # Any: JSON Schema
    del schema["default"]


def _widest(fields: list[FieldInfo]) -> Iterator[Ge | Le]:
    """Bounds that let through what any of the primitives takes; which of them it is, is known only later."""
    for kind, choose in ((Ge, min), (Le, max)):
        found = [
            getattr(bound, kind.__name__.lower())
            for field in fields
            for bound in field.metadata
            if isinstance(bound, kind)
        ]
        assert len(found) == len(fields)
        yield kind(choose(found))


def _expected(primitive: str, name: str) -> str:
    return next(parameter.expected for parameter in parameters_of(PRIMITIVES[primitive]) if parameter.name == name)


if TYPE_CHECKING:

    class PrimitiveArguments(Args):
        """Made from the primitives when the server starts; a type checker knows its base."""

else:
    PrimitiveArguments = _merged()
