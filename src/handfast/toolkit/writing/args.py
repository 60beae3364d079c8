"""Args: the typed arguments of a tool. Unknown keys are refused at every level, numbers and booleans are strict."""

from pydantic import BaseModel, ConfigDict


class Args(BaseModel):
    """Derive a tool's arguments, and every model inside them, from this."""

    # JSON has no infinity, and a number too large for a float must not become one.
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class NoArgs(Args):
    """The arguments of a tool that takes none."""
