"""Scalars that a coercing server would accept: most Python servers read "3" where an integer is declared."""

from copy import deepcopy
from typing import Any

import jsonschema_rs
import msgspec

_MOST_PLACES = 50  # a call with more wrong scalars than this is wrong in another way


def is_valid_if_coerced(validator: jsonschema_rs.Validator, value: object) -> bool:
    """Whether the arguments meet the schema once numbers and booleans sent as text are read as such.

    Only judged so: what is forwarded stays as it was sent.
    """
    copy = deepcopy(value)
    for count, error in enumerate(validator.iter_errors(value)):
        if count == _MOST_PLACES or not _coerce_at(copy, list(error.instance_path)):
            return False
    return validator.is_valid(copy)


def _coerce_at(root: Any, path: list[str | int]) -> bool:  # Any: decoded JSON
    """Replace the text at the path by the scalar it spells; False when there is none."""
    if not path:
        return False
    holder = root
    for step in path[:-1]:
        holder = holder[step]
    text = holder[path[-1]]
    if not isinstance(text, str):
        return not isinstance(text, dict | list)  # already replaced through another error at the same place
    try:
        scalar = msgspec.json.decode(text.strip().lower())
    except (msgspec.DecodeError, RecursionError):  # `[[[[…` is no scalar either
        return False
    if not isinstance(scalar, int | float | bool):
        return False
    holder[path[-1]] = scalar
    return True
