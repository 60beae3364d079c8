"""`@mcp_tool`: what it holds, what it refuses, and what subclasses inherit."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from handfast.django.decorators import ToolMark, is_excluded, mark_of, mcp_tool


def test_a_mark_holds_what_it_was_told() -> None:
    @mcp_tool(name="look", description="Looks.", kind="read", input={"type": "object"})
    def function() -> None: ...

    assert mark_of(function) == ToolMark("look", "Looks.", None, "read", {"type": "object"}, None)


def test_it_can_be_used_without_parentheses() -> None:
    @mcp_tool
    def function() -> int:
        return 3

    assert (mark_of(function), function()) == (ToolMark(), 3)


def test_what_has_no_mark_has_none() -> None:
    assert [mark_of(thing) for thing in (print, object, None, 3)] == [None] * 4


@pytest.mark.parametrize("name", ["", "with.dot", "with space", "ü", "x" * 129])
def test_a_name_that_no_tool_can_have_is_refused_at_once(name: str) -> None:
    with pytest.raises(ValueError, match=r"cannot name a tool. Use 1 to 128 letters, digits, '_' or '-'"):
        mcp_tool(name=name)


def test_a_kind_that_there_is_not_is_refused_at_once() -> None:
    make: Callable[..., object] = mcp_tool
    with pytest.raises(ValueError, match=r"There is no kind 'delete' of tool. Use one of read, write, admin"):
        make(kind="delete")


@mcp_tool(exclude=True, name="base")
class Base: ...


class Silent(Base): ...


@mcp_tool(description="Says nothing about being one")
class Described(Base): ...


@mcp_tool(exclude=False)
class Back(Described): ...


def test_being_left_out_is_inherited_until_a_subclass_says_otherwise() -> None:
    assert [is_excluded(cls) for cls in (Base, Silent, Described, Back, object)] == [True, True, True, False, False]


def test_nothing_else_is_inherited() -> None:
    assert (mark_of(Silent), mark_of(Described)) == (None, ToolMark(description="Says nothing about being one"))


def test_it_needs_neither_django_nor_the_sdk() -> None:
    program = "import sys, handfast.django.decorators; print({'django', 'mcp', 'pydantic'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "set()\n"
