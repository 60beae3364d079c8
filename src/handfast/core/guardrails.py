"""What an admin tool asks before anything else: somebody who answers for it, a confirmation, and a reason."""

from collections.abc import Mapping
from typing import Any, Final

from handfast.core.policy import Violation

CONFIRM: Final = "confirm"
REASON: Final = "reason"
GUARDRAIL_PROPERTIES: Final[Mapping[str, Any]] = {  # Any: JSON Schema
    CONFIRM: {"type": "boolean", "const": True, "description": "Must be true: this cannot be undone."},
    REASON: {
        "type": "string",
        "minLength": 1,
        "pattern": r".*\S.*",
        "description": "Why this is done. It is put on record.",
    },
}


def check_guardrails(arguments: Mapping[str, object], *, has_actor: bool) -> Violation | None:
    if not has_actor:
        return Violation("access.missing_actor", "This tool needs a caller who is known. Authenticate and call again.")
    if arguments.get(CONFIRM) is not True:
        return Violation("access.missing_confirm", "This tool needs confirm: true. Confirm and call again.")
    reason = arguments.get(REASON)
    if not isinstance(reason, str) or not reason.strip():
        return Violation("access.missing_reason", "This tool needs a reason. Say why in reason and call again.")
    return None
