"""Tools that change a picture, and the one that says how it stands. Each answers with `state_after`."""

from typing import Annotated

from pydantic import Field

from darkroom import edits
from darkroom.arguments import ImageId, ModuleId
from darkroom.history import History
from darkroom.merged_parameters import PrimitiveArguments
from darkroom.stack import Layer, Module
from darkroom.state import StateSummary, summarize_state
from darkroom.studio import Studio
from darkroom.told import Told
from handfast.toolkit import Args, Call, Toolbox


class OfImage(Args):
    """The picture that is meant."""

    image_id: ImageId


def history_of(image_id: str, call: Call) -> History:
    studio: Studio = call.app
    return studio.workspace.history(image_id)


class State(Told):
    """How a picture stands."""

    branch: str | None
    """Where the next snapshot goes; null while the head is detached."""
    state_after: StateSummary


def get_state(args: OfImage, call: Call) -> State:
    """Say how a picture stands: where its head is, and how many edits are on it."""
    history = history_of(args.image_id, call)
    return State(branch=history.head().branch, state_after=summarize_state(history))


class ApplyPrimitive(Args):
    """An edit."""

    image_id: ImageId
    primitive: Annotated[str, Field(min_length=1, max_length=64, description="An L3 entry of the vocabulary.")]
    parameters: Annotated[
        PrimitiveArguments, Field(default_factory=PrimitiveArguments, description="The primitive's own parameters.")
    ]
    module_id: Annotated[
        ModuleId | None,
        Field(description="The module to add, or to give new parameters; the primitive's name unless said."),
    ] = None
    enabled: Annotated[bool, Field(description="False keeps the edit without rendering it.")] = True


class ToldModule(Told):
    """One edit of a picture."""

    id: str
    primitive: str
    layer: Layer
    enabled: bool
    parameters: dict[str, float | str | list[list[float]]]
    template: str | None
    """The layer template that brought it, if one did."""


def told(module: Module) -> ToldModule:
    return ToldModule(
        id=module.id,
        primitive=module.primitive,
        layer=module.layer,
        enabled=module.enabled,
        parameters=dict(module.parameters),  # type: ignore[arg-type]  # a primitive's model has made them
        template=module.template,
    )


class Applied(Told):
    """The edit as it is now, with the parameters that were left out."""

    module: ToldModule
    replaced: bool
    """Whether a module of that id was there before."""
    state_after: StateSummary


def apply_primitive(args: ApplyPrimitive, call: Call) -> Applied:
    """Apply one edit. The same primitive again replaces its parameters, unless another module_id is given."""
    history = history_of(args.image_id, call)
    given = args.parameters.model_dump(exclude_unset=True)
    applied = edits.apply_primitive(history, args.primitive, given, module_id=args.module_id, enabled=args.enabled)
    return Applied(module=told(applied.module), replaced=applied.replaced, state_after=summarize_state(history))


class RemoveModule(Args):
    """The edit to take away."""

    image_id: ImageId
    module_id: Annotated[str, Field(min_length=1, max_length=64)]


class Removed(Told):
    """What is gone."""

    module_id: str
    state_after: StateSummary


def remove_module(args: RemoveModule, call: Call) -> Removed:
    """Take one edit away. `diff` from baseline to HEAD lists the modules of a picture."""
    history = history_of(args.image_id, call)
    edits.remove_module(history, args.module_id)
    return Removed(module_id=args.module_id, state_after=summarize_state(history))


class Reset(Told):
    """The picture as it was taken in."""

    state_after: StateSummary


def reset(args: OfImage, call: Call) -> Reset:
    """Go back to the baseline with a new snapshot; what came before stays in the history."""
    history = history_of(args.image_id, call)
    edits.reset(history)
    return Reset(state_after=summarize_state(history))


_TEMPLATE = Field(min_length=1, max_length=64, description="A vocabulary entry of this layer; left alone unless sent.")


class BindLayers(Args):
    """Templates for the two layers below one's own edits."""

    image_id: ImageId
    L1: Annotated[str | None, _TEMPLATE] = None
    L2: Annotated[str | None, _TEMPLATE] = None


class Bound(Told):
    """What the layers hold now."""

    modules: tuple[ToldModule, ...]
    state_after: StateSummary


def bind_layers(args: BindLayers, call: Call) -> Bound:
    """Fill L1 (technical) and L2 (look) with templates; each replaces what its layer held before."""
    history = history_of(args.image_id, call)
    wanted: list[tuple[Layer, str | None]] = [("L1", args.L1), ("L2", args.L2)]
    modules = edits.bind_layers(history, {layer: name for layer, name in wanted if name is not None})
    return Bound(modules=tuple(map(told, modules)), state_after=summarize_state(history))


def add_to(tools: Toolbox) -> None:
    tools.read(get_state)
    tools.write(apply_primitive)
    tools.write(remove_module)
    tools.write(reset)
    tools.write(bind_layers)
