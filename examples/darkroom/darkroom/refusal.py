"""The nine codes of the darkroom, and the one exception that carries them."""

from enum import StrEnum
from typing import Final

from handfast.toolkit import DeclaredCode, ErrorCode, ToolError


class Code(StrEnum):
    """Why something was refused. Closed: callers branch on it, so a member is never renamed or removed."""

    INVALID_INPUT = "invalid_input"  # the shape is right and the meaning is not: an empty name, a layer mismatch
    NOT_FOUND = "not_found"  # a picture, primitive, module, ref or proposal that the darkroom does not know
    DARKTABLE_ERROR = "darktable_error"  # the renderer failed; details.stderr is the tail of what it said
    VERSIONING_ERROR = "versioning_error"  # a rule of the history: a damaged object, a detached head, a ref that exists
    STATE_ERROR = "state_error"  # not now: no baseline yet, an id that is taken, layers without a history

    # Reserved: nothing raises these. They stay, because agents that switch on the code were promised them.
    SYNTHESIZER_ERROR = "synthesizer_error"  # edits are parameters here; nothing is synthesized that could fail
    MASKING_ERROR = "masking_error"  # there are no masks
    PERMISSION_ERROR = "permission_error"  # a file that may not be touched surfaces as an unexpected failure
    NOT_IMPLEMENTED = "not_implemented"  # every tool is whole; a stub would say in details.slice when it will be


RESERVED: Final = frozenset({Code.SYNTHESIZER_ERROR, Code.MASKING_ERROR, Code.PERMISSION_ERROR, Code.NOT_IMPLEMENTED})
# The other five are the toolkit's own; these four it has to be told of.
DECLARED: Final = tuple(
    DeclaredCode(name=code, is_reserved=code in RESERVED) for code in Code if code.value not in set(ErrorCode)
)


class Refused(ToolError):
    """Something the darkroom will not or cannot do, in words for the agent."""

    def __init__(self, code: Code, message: str, **details: object) -> None:
        super().__init__(code, message, details)
