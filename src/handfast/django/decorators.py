"""`@mcp_tool`: what an author declares about the tool that a view, a viewset, an action or a function becomes.

Nothing of Django is imported here, so that it can be used wherever views are written.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar, overload

ToolKind: TypeAlias = Literal["read", "write", "admin"]
# A serializer (class or instance, `many=True` too) or a JSON Schema. Any: REST framework is not imported here.
Declared: TypeAlias = Any
T = TypeVar("T")

_ATTRIBUTE: Final = "handfast_tool"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KINDS: Final = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class ToolMark:
    """The arguments of `@mcp_tool`; None: it was left out."""

    name: str | None = None
    description: str | None = None
    exclude: bool | None = None
    kind: ToolKind | None = None
    input: Declared | None = None
    output: Declared | None = None


UNMARKED: Final = ToolMark()


@overload
def mcp_tool(target: T, /) -> T: ...


@overload
def mcp_tool(
    *,
    name: str | None = None,
    description: str | None = None,
    exclude: bool | None = None,
    kind: ToolKind | None = None,
    input: Declared | None = None,
    output: Declared | None = None,
) -> Callable[[T], T]: ...


def mcp_tool(
    target: Any = None,  # Any: a function or a class, returned as it came
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    exclude: bool | None = None,
    kind: ToolKind | None = None,
    input: Declared | None = None,  # noqa: A002 - the word an author looks for
    output: Declared | None = None,
) -> Any:
    """Makes a view a tool, keeps it from being one, or declares what cannot be read from its code.

    On an action or a function `name` is the tool's name; on a class it replaces the part that comes from the url, and
    the action still follows. Only `exclude` holds for subclasses too, until one of them says otherwise.

    Raises: ValueError, for an invalid name or kind.
    """
    if name is not None and not _NAME.fullmatch(name):
        raise ValueError(f"'{name}' cannot name a tool. Use 1 to 128 letters, digits, '_' or '-'.")
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"There is no kind '{kind}' of tool. Use one of {', '.join(_KINDS)}.")
    mark = ToolMark(name, description, exclude, kind, input, output)

    def decorate(target: T) -> T:
        setattr(target, _ATTRIBUTE, mark)
        return target

    return decorate if target is None else decorate(target)


def mark_of(target: object) -> ToolMark | None:
    """The mark on a function or on a class itself, not on its bases."""
    held = vars(target) if isinstance(target, type) else getattr(target, "__dict__", {})
    mark = held.get(_ATTRIBUTE)
    return mark if isinstance(mark, ToolMark) else None


def is_excluded(view: type) -> bool:
    """Whether the nearest class that sets `exclude` keeps this view and its actions from being tools."""
    said = (mark.exclude for cls in view.__mro__ if (mark := mark_of(cls)) is not None)
    return next((word for word in said if word is not None), False)
