"""What a handler returned, as the one outcome: JSON data and content blocks, or a failure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError

from handfast.core.codes import CodeBook
from handfast.core.envelopes import NotAnEnvelope, read_status
from handfast.core.outcome import Outcome, Succeeded
from handfast.toolkit.reply import Reply, ToolResult
from handfast.toolkit.spec import ToolSpec

_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)  # Any: serialises each value by its own type


class NotJson(Exception):
    """A handler returned something that no JSON text can hold."""


@dataclass(frozen=True, slots=True)
class Returned:
    """`blocks` are content blocks for the agent beside the data."""

    outcome: Outcome
    blocks: Sequence[BaseModel] = ()


def read_returned(value: Any, spec: ToolSpec, codes: CodeBook) -> Returned:  # Any: whatever the handler returned
    """Raises: NotJson, and KeyError for a code that the server did not declare."""
    if isinstance(value, Reply):
        return Returned(Succeeded(_as_json(value.data, spec)), value.blocks)
    if isinstance(value, ToolResult):
        outcome = value.outcome(codes)
        return Returned(_dumped(outcome, spec), value.blocks)
    if spec.returns is None and isinstance(value, str):
        return Returned(_of_text(value, codes))
    return Returned(Succeeded(_as_json(value, spec)))


def _dumped(outcome: Outcome, spec: ToolSpec) -> Outcome:
    return Succeeded(_as_json(outcome.data, spec)) if isinstance(outcome, Succeeded) else outcome


def _of_text(text: str, codes: CodeBook) -> Outcome:
    """An explicit handler answers with the `status` form as text."""
    try:
        return read_status(json.loads(text), codes)
    except (ValueError, NotAnEnvelope, RecursionError):
        raise NotJson("the handler's text is not what ok(), err() and the like give") from None


def _as_json(value: Any, spec: ToolSpec) -> Any:  # Any: JSON
    try:
        # Whether it is of the declared type is for the output schema to say, by the one rule there is.
        return (spec.returns or _ANYTHING).dump_python(value, mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, ValueError, RecursionError, AttributeError, TypeError):
        raise NotJson("the handler returned a value that cannot be written as JSON") from None
