"""Everything that changes a picture's stack: each change is one snapshot."""

from dataclasses import dataclass

from darkroom.history import History, Snapshot
from darkroom.refusal import Code, Refused
from darkroom.stack import Layer, Module, Parameters
from darkroom.vocabulary import complete_parameters, require_template


@dataclass(frozen=True, slots=True)
class Applied:
    module: Module
    replaced: bool


def apply_primitive(
    history: History, primitive: str, parameters: Parameters, *, module_id: str | None, enabled: bool
) -> Applied:
    """Add a module, or give the one with that id new parameters."""
    complete = complete_parameters(primitive, parameters)
    new = Module(module_id or primitive, primitive, "L3", enabled, complete, None)
    with history.changing():
        before = history.stack(history.require_head())
        after = before.with_module(new)
        history.append(after, f"apply {new.id}")
    kept = after.module(new.id)
    assert kept is not None
    return Applied(kept, replaced=before.module(new.id) is not None)


def remove_module(history: History, module_id: str) -> None:
    with history.changing():
        after = history.stack(history.require_head()).without_module(module_id)
        history.append(after, f"remove {module_id}")


def bind_layers(history: History, templates: dict[Layer, str]) -> tuple[Module, ...]:
    """Fill layers with templates; what they held before gives way. The modules that came."""
    if not templates:
        raise Refused(Code.INVALID_INPUT, "No layer was named. Send L1, L2 or both.", kind="value")
    bound = [require_template(name, layer) for layer, name in templates.items()]
    with history.changing():
        stack = history.stack(history.require_head())
        for template in bound:
            stack = stack.with_layer(template.layer, template.modules())
        history.append(stack, f"bind {', '.join(f'{layer} {name}' for layer, name in templates.items())}")
    return tuple(module for module in stack.modules if module.layer in templates)


def reset(history: History) -> None:
    """Go on from what the baseline was. The history stays: going back is a step forward in it."""
    with history.changing():
        history.append(history.stack(history.require_baseline()), "reset to baseline")


def take_snapshot(history: History, label: str) -> Snapshot:
    """Mark the current state. The first snapshot of a picture without one becomes its baseline."""
    with history.changing():
        return history.append(history.current_stack(), label)
