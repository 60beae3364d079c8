"""What handlers may return beside plain data: content blocks and notices, or an explicit success or failure."""

from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.envelopes import Json, result_payload
from handfast.core.answers.errors import ToolError
from handfast.core.answers.outcome import Outcome, Succeeded, outcome_of_error

T = TypeVar("T")
_CORE_CODES = CodeBook()


class Notice(BaseModel):
    """As `text` content goes over the wire. Not the SDK's type: tools are dispatched without it, too."""

    type: Literal["text"] = "text"
    text: str


class Reply(Generic[T]):
    """Data with content blocks for the agent, such as images: `-> Reply[Preview]`."""

    __slots__ = ("blocks", "data")

    def __init__(self, data: T, *blocks: Any) -> None:  # Any: content blocks of mcp_types
        self.data = data
        self.blocks = blocks


@dataclass(frozen=True, slots=True)
class ToolResult:
    """An explicit outcome of a handler, instead of a return value or an exception."""

    data: Any = None  # Any: JSON, or a model
    error: ToolError | None = None
    blocks: tuple[Any, ...] = field(default=())  # Any: content blocks of mcp_types

    @classmethod
    def ok(cls, data: Any = None, *blocks: Any) -> "ToolResult":  # Any: as above
        return cls(data=data, blocks=blocks)

    @classmethod
    def fail(cls, error: ToolError) -> "ToolResult":
        return cls(error=error)

    def outcome(self, codes: CodeBook) -> Outcome:
        """The outcome. Raises: KeyError, for a code that the server did not declare."""
        return Succeeded(self.data) if self.error is None else outcome_of_error(self.error, codes)

    def to_payload(self, codes: CodeBook = _CORE_CODES) -> Json:
        """The outcome in the form `{success, data, error}`."""
        return result_payload(self.outcome(codes))
