"""The edits of a picture: modules in the order in which they are rendered, and what differs between two such stacks."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from darkroom.refusal import Code, Refused

Layer: TypeAlias = Literal["L1", "L2", "L3"]
LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)
Parameters: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Module:
    """One edit: a primitive with its parameters, in a layer."""

    id: str
    primitive: str
    layer: Layer
    enabled: bool
    parameters: Parameters
    template: str | None  # the layer template that brought it, if one did


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one module between two stacks."""

    module_id: str
    change: Literal["added", "removed", "changed"]
    before: Module | None
    after: Module | None


@dataclass(frozen=True, slots=True)
class Stack:
    """A picture and its modules, L1 before L2 before L3 and each layer in the order of its edits."""

    picture: str
    modules: tuple[Module, ...] = ()

    def module(self, module_id: str) -> Module | None:
        return next((module for module in self.modules if module.id == module_id), None)

    def with_module(self, new: Module) -> "Stack":
        """Add a module, or give the one with its id new parameters where it stands."""
        old = self.module(new.id)
        if old is None:
            return self._ordered((*self.modules, new))
        if old.primitive != new.primitive:
            raise Refused(
                Code.STATE_ERROR,
                "That module id belongs to another primitive. Choose another id, or remove the module first.",
                primitive=old.primitive,
            )
        kept = replace(new, layer=old.layer, template=old.template)
        return replace(self, modules=tuple(kept if module is old else module for module in self.modules))

    def without_module(self, module_id: str) -> "Stack":
        if self.module(module_id) is None:
            raise Refused(
                Code.NOT_FOUND, "The picture has no module with that id. `diff` from baseline to HEAD lists them."
            )
        return replace(self, modules=tuple(module for module in self.modules if module.id != module_id))

    def with_layer(self, layer: Layer, modules: Iterable[Module]) -> "Stack":
        """Put a template's modules in place of whatever the layer held."""
        others = tuple(module for module in self.modules if module.layer != layer)
        new = tuple(modules)
        taken = {module.id for module in others} & {module.id for module in new}
        if taken:
            raise Refused(
                Code.STATE_ERROR,
                "A module of another layer has an id that this layer needs. Remove that module first.",
                module_ids=sorted(taken),
            )
        return self._ordered((*others, *new))

    def _ordered(self, modules: Iterable[Module]) -> "Stack":
        return replace(self, modules=tuple(sorted(modules, key=lambda module: LAYERS.index(module.layer))))

    def to_document(self) -> dict[str, object]:
        return {
            "kind": "stack",
            "picture": self.picture,
            "modules": [asdict(replace(module, parameters=dict(module.parameters))) for module in self.modules],
        }


def stack_from(document: Mapping[str, object]) -> Stack:
    """A stack out of the object store, which has checked its hash."""
    modules = document["modules"]
    assert isinstance(modules, list)
    return Stack(str(document["picture"]), tuple(Module(**module) for module in modules))


def changes(before: Stack, after: Stack) -> tuple[Change, ...]:
    """Every module that differs: first what is gone or changed, in its old order, then what is new."""
    found = []
    for old in before.modules:
        new = after.module(old.id)
        if new is None:
            found.append(Change(old.id, "removed", old, None))
        elif new != old:
            found.append(Change(old.id, "changed", old, new))
    added = (Change(new.id, "added", None, new) for new in after.modules if before.module(new.id) is None)
    return (*found, *added)
