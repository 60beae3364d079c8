"""What an admin tool requires before anything else: an actor, a confirmation, and a reason."""

from collections.abc import Mapping
from typing import Any, Final
from unicodedata import category

from handfast.core.call import rules
from handfast.core.call.policy import Violation

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
_SEEN: Final = frozenset("LNPS")  # letters, numbers, punctuation and symbols; not marks, spaces or controls
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and symbols by category, but blank on screen

MISSING_ACTOR = Violation(
    rules.ACCESS_MISSING_ACTOR,
    "This tool needs a known caller, and this call has none. Ask the operator to sign you in.",
)


def _missing_confirm(where: str = "") -> Violation:
    text = f"This tool needs a confirmation. If this is really wanted, send confirm: true (no string){where}"
    return Violation(rules.ACCESS_MISSING_CONFIRM, f"{text} and call again.")


def _missing_reason(where: str = "") -> Violation:
    text = f"This tool needs a reason. Say in `reason`{where} why this is done, and call again."
    return Violation(rules.ACCESS_MISSING_REASON, text)


MISSING_CONFIRM = _missing_confirm()
MISSING_REASON = _missing_reason()


def check_guardrails(arguments: Mapping[str, object], *, has_actor: bool, inside: str = "") -> Violation | None:
    """The first of the three that is missing. Only a literal true confirms, and only visible text is a reason.

    `inside` is the field of a dispatcher that holds the arguments.
    """
    where = f' inside "{inside}"' if inside else ""
    if not has_actor:
        return MISSING_ACTOR
    if arguments.get(CONFIRM) is not True:
        return _missing_confirm(where)
    return None if has_text(arguments.get(REASON)) else _missing_reason(where)


def has_text(value: object) -> bool:
    """Whether the value is a string with at least one visible character."""
    return isinstance(value, str) and any(category(char)[0] in _SEEN and char not in _BLANK for char in value)
