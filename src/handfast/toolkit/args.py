"""Args: the typed arguments of a tool. Unknown keys are refused at every level, numbers and booleans are strict."""

from pydantic import BaseModel, ConfigDict


class Args(BaseModel):
    """Derive a tool's arguments, and every model inside them, from this."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class NoArgs(Args):
    """The arguments of a tool that takes none."""
