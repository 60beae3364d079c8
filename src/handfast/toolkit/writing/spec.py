"""ToolSpec: one tool of a server, in either form that an author may write."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from handfast.toolkit.writing.call import Call
from handfast.toolkit.writing.schemas import ContractError, require_closed

Handler = Callable[..., Any]  # Any: a value, or an awaitable of one
Run = Callable[[Any, dict[str, Any], Call], Awaitable[Any]]  # Any: the parsed model or None; JSON; whatever it returns

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")  # flat: the protocol allows dots, handfast does not


class Kind(StrEnum):
    """The kind of effect of a tool. Only admin tools are destructive, and they are guarded."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is registered. `input_schema` is published as it is; `output_schema` describes the data alone.

    A tool whose results come in pieces also publishes the token and the form of a piece.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]  # Any: JSON Schema
    handler: Handler
    kind: Kind = Kind.WRITE
    output_schema: Mapping[str, Any] | None = None  # Any: as above
    args_model: type[BaseModel] | None = None
    returns: TypeAdapter[Any] | None = None  # Any: turns the handler's value into JSON
    run: Run | None = None  # how the handler is called; made by the builders
    title: str = ""
    timeout_s: float | None = None  # None: the server's default
    is_idempotent: bool = False
    is_open_world: bool = False
    hints: Mapping[str, bool] | None = None  # annotations instead of those that follow from the kind
    is_dispatcher: bool = False
    is_listed: bool = True  # an unlisted tool can be called by name or through a dispatcher
    in_pieces: bool | None = None  # large results come in pieces; None: the registry's default
    piece_bytes: int | None = None  # None: the registry's default
    run_list: Run | None = None  # runs a body that is a list; None: the tool accepts single objects only
    items_key: str = "items"  # the member of an object result that holds its items

    def __post_init__(self) -> None:
        if self.timeout_s is not None:
            require_seconds(self.timeout_s, self.name)

    @property
    def annotations(self) -> dict[str, bool]:
        if self.hints is not None:
            return dict(self.hints)
        return {
            "readOnlyHint": self.kind is Kind.READ,
            "destructiveHint": self.kind is Kind.ADMIN,
            "idempotentHint": self.is_idempotent or self.kind is Kind.READ,
            "openWorldHint": self.is_open_world,
        }


def require_seconds(seconds: object, name: str) -> None:
    """Checks a timeout. Raises: ContractError."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
        raise ContractError(f"timeout_s of '{name}' must be a number of seconds above 0; give one.")


def require_name(name: str) -> None:
    """Checks a tool's name. Raises: ContractError."""
    if not NAME.fullmatch(name):
        raise ContractError(f"'{name}' cannot name a tool. Use 1 to 128 letters, digits, '_' or '-', without dots.")


def require_sound(spec: ToolSpec, *, may_be_open: bool = False) -> None:
    """Checks a tool before it is registered. Raises: ContractError."""
    require_name(spec.name)
    if not spec.description.strip():
        raise ContractError(
            f"'{spec.name}' has no description, and agents choose tools by it. Give the function a docstring."
        )
    if spec.is_dispatcher:
        return  # handfast makes its schema, it has no handler, and its actions have their own schemas
    if spec.run is None:
        raise ContractError(f"'{spec.name}' has no handler; give it one with handler= or with_handlers().")
    if not may_be_open:
        require_closed(spec.input_schema, spec.name)
