"""Boundaries that must parse what they are given with `parse_typed`: the form of a registry, and handfast's own."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Boundary:
    """A function that takes in what somebody else wrote."""

    file: str  # from the project's folder, with "/" between its parts
    function: str  # by qualified name: decode_token, Service.decode_token, outer.inner
    label: str
    lenient: bool = False  # registered so that it is known, and not held to parse_typed


# handfast's own. A boundary is listed with the code that makes it one, never before.
OWN_BOUNDARIES: Final = (
    Boundary("src/handfast/toolkit/running/arguments_model.py", "parse_arguments", "mcp.tool"),
    # A tool without a model is held to its input schema, and its handler reads the arguments one by one.
    Boundary("src/handfast/toolkit/writing/builders.py", "run_of_handler", "mcp.tool.dual_path", lenient=True),
)
