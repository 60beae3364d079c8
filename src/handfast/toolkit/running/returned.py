"""Reads what a handler returned as an outcome: JSON data with content blocks, or a failure."""

from collections.abc import Sequence
from functools import cache
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Final

import msgspec
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.envelopes import NotAnEnvelope, read_status
from handfast.core.answers.outcome import Outcome, Succeeded
from handfast.core.call import rules
from handfast.core.call.policy import OutputPolicy, Violation
from handfast.core.call.result import ambiguous_violation, depth_violation
from handfast.core.call.strict_json import Ambiguous, decode_judged, depth_exceeds, may_overflow
from handfast.tool_call import UnusableResult
from handfast.toolkit.writing.reply import Reply, ToolResult
from handfast.toolkit.writing.schemas import adapter_of
from handfast.toolkit.writing.spec import ToolSpec

_ANYTHING = adapter_of(Any)  # serialises each value by its own type
_NOT_A_VALUE: Final = (GeneratorType, AsyncGeneratorType, CoroutineType)
_MOST_LEVELS: Final = OutputPolicy().max_depth


class Returned(msgspec.Struct, frozen=True):
    """An outcome, with content blocks for the agent beside its data."""

    outcome: Outcome
    blocks: Sequence[BaseModel] = ()


def read_returned(value: Any, spec: ToolSpec, codes: CodeBook) -> Returned:  # Any: whatever the handler returned
    """Reads a handler's return value. Raises: UnusableResult, and KeyError for a code that is not declared."""
    if isinstance(value, Reply):
        return Returned(Succeeded(_as_json(value.data, spec)), _checked(value.blocks))
    if isinstance(value, ToolResult):
        outcome = value.outcome(codes)
        if isinstance(outcome, Succeeded):
            outcome = Succeeded(_as_json(outcome.data, spec))
        return Returned(outcome, _checked(value.blocks))
    if spec.returns is None and isinstance(value, str):
        return Returned(_of_text(value, codes))
    return Returned(Succeeded(_as_json(value, spec)))


def _of_text(text: str, codes: CodeBook) -> Outcome:
    """Reads the text of an explicit handler, which answers in the `status` form."""
    try:
        return read_status(_read(text), codes)
    except NotAnEnvelope:
        raise _unusable("the handler's text is not what ok(), err() and the like give") from None


def _read(text: str) -> object:
    """Decodes text by the rules for every result; refuses text that two parsers could read differently."""
    try:
        data = text.encode()
        if depth_exceeds(data, _MOST_LEVELS + 1):  # the envelope itself is one level
            raise UnusableResult(depth_violation(_MOST_LEVELS))
        value = decode_judged(data)
        if may_overflow(data):
            msgspec.json.decode(data)
    except UnicodeEncodeError:
        raise UnusableResult(ambiguous_violation("it holds text that is not valid Unicode")) from None
    except Ambiguous as problem:
        raise UnusableResult(ambiguous_violation(str(problem))) from None
    except msgspec.MsgspecError:
        raise _unusable("the handler's text holds a number that is too large to be passed on") from None
    return value


def _as_json(value: Any, spec: ToolSpec) -> Any:  # Any: JSON
    if isinstance(value, _NOT_A_VALUE):
        if isinstance(value, CoroutineType):
            value.close()
        raise _unusable(f"the handler returned something that has yet to run ({type(value).__name__}) and no value")
    if getattr(value, "result_type", None) == "input_required":
        raise _unusable("the handler returned a question of the SDK; ask it with call.ask() instead")
    try:
        # No warnings about types, because the output schema alone judges those.
        serializer = (spec.returns or _ANYTHING).serializer
        return serializer.to_python(value, mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, ValueError, RecursionError, AttributeError, TypeError):
        raise _unusable("the handler returned a value that cannot be written as JSON") from None


def _checked(blocks: Sequence[Any]) -> Sequence[BaseModel]:  # Any: whatever the handler put there
    if not blocks:
        return ()
    adapter = _content_blocks()
    try:
        read: Sequence[BaseModel] = adapter.validate_python(blocks)
        adapter.dump_json(read)  # its members may still be unserializable
    except (PydanticSerializationError, ValidationError, ValueError):
        raise _unusable("the handler returned a content block that is none of the protocol's") from None
    return read


@cache
def _content_blocks() -> TypeAdapter[Any]:
    from mcp.types import ContentBlock  # imported late: few tools return blocks, and only serving needs the SDK

    return TypeAdapter(tuple[ContentBlock, ...])


def _unusable(message: str) -> UnusableResult:
    return UnusableResult(Violation(rules.RESULT_SCHEMA, message))
