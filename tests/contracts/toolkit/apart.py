"""The cases that cannot be asked of authored tools as they are at the gateway, each with its reason."""

from fnmatch import fnmatchcase
from typing import Final

WRITTEN: Final = "The registry refuses such a schema when the tool is written, so no call ever meets it."
ENVELOPE: Final = "The case is about members of a result beside its data, and those are the toolkit's to write."
NUMBERS: Final = "Python reads a number beyond a double as Infinity; it is refused rather than passed on changed."
UNKNOWN: Final = "An authored server knows its tools; a call of another one is a protocol error (D21)."

APART: Final[dict[str, tuple[str, ...]]] = {
    WRITTEN: (
        "open_additional_true",
        "open_additional_schema",
        "open_additional_empty_schema",
        "open_unmatched",
        "near_open",
        "unusable_*",
    ),
    ENVELOPE: (
        "missing_*",
        "levels_*",
        "error_*",
        "odd_*",
        "no_content",
        "deep_content",
        "no_object_result",
        "empty_result",
        "not_final_*",
        "final_*",
        "protocol_error",
        "nan_outside",
    ),
    NUMBERS: ("number_0", "number_1", "number_4", "number_bounded"),
    UNKNOWN: ("hidden*", "BIG_NUMBERS"),
}


def reason_apart(name: str) -> str | None:
    """Why the case of this name is not asked; None: it is."""
    for reason, patterns in APART.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return reason
    return None
