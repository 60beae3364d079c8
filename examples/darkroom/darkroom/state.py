"""What every change of a picture's state is answered with: four facts, never the stack itself."""

from dataclasses import dataclass

from darkroom.history import History
from darkroom.stack import Layer


@dataclass(frozen=True, slots=True)
class LayersPresent:
    """Which layers hold at least one module."""

    L1: bool
    L2: bool
    L3: bool


@dataclass(frozen=True, slots=True)
class StateSummary:
    """The state of a picture. The hash is null only before its first snapshot."""

    head_hash: str | None
    entry_count: int
    enabled_count: int
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
