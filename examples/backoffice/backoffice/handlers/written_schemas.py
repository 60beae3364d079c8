"""Pieces of input schemas that are written out, for tools without models."""

from collections.abc import Mapping
from typing import Any, Final

from handfast.toolkit.writing.argument_checks import MOST_LIMIT

Json = dict[str, Any]  # Any: JSON Schema

MOST_NUMBER: Final = 2**63 - 1  # SQLite counts no further
NUMBER: Final[Json] = {"type": "integer", "minimum": 1, "maximum": MOST_NUMBER, "description": "A number from a list."}
KEY: Final[Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 80,
    "pattern": r"\S",
    "description": "An id from a list.",
}
NEW_KEY: Final[Json] = {
    "type": "string",
    "pattern": r"^[a-z][a-z0-9-]{0,39}$",
    "description": "A short id of small letters, digits and hyphens.",
}
TEXT: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 10_000, "pattern": r"\S"}
MOMENT: Final[Json] = {"type": "string", "format": "date-time"}
PAGING: Final[Json] = {
    "offset": {"type": "integer", "minimum": 0, "maximum": MOST_NUMBER, "description": "How many to pass over."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_LIMIT,
        "default": 50,
        "description": "How many to return at most.",
    },
}


def closed(properties: Mapping[str, Json], *, required: tuple[str, ...] = ()) -> Json:
    """An object of these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
