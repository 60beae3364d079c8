"""What every change of a picture's state is answered with: four facts, never the stack itself."""

from darkroom.history import History
from darkroom.stack import Layer
from darkroom.told import Count, Sha256, Told


class LayersPresent(Told):
    """Which layers hold at least one module."""

    L1: bool
    L2: bool
    L3: bool


class StateSummary(Told):
    """The state of a picture after the call."""

    head_hash: Sha256 | None
    """The snapshot under the head; null only before the first one."""
    entry_count: Count
    enabled_count: Count
    layers_present: LayersPresent


def summarize_state(history: History) -> StateSummary:
    modules = history.current_stack().modules

    def has(layer: Layer) -> bool:
        return any(module.layer == layer for module in modules)

    return StateSummary(
        head_hash=history.head().snapshot,
        entry_count=len(modules),
        enabled_count=sum(module.enabled for module in modules),
        layers_present=LayersPresent(L1=has("L1"), L2=has("L2"), L3=has("L3")),
    )
