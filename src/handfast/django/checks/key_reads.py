"""Which keys a method reads from its argument, as far as its source proves it."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final

# Methods of a mapping that read one key, the first argument.
_BY_KEY: Final = frozenset(("get", "pop", "setdefault", "__getitem__"))
# Attributes by which the same values can be reached in another way.
_ELSEWHERE: Final = frozenset(("validated_data", "initial_data", "data", "request", "get_serializer"))
_BODY: Final = frozenset(("POST", "FILES", "body", "stream", "_request", "_full_data"))
_SCOPES: Final = frozenset(("locals", "vars", "eval", "exec"))
_Parents = dict[ast.AST, ast.AST]


def keys_read(method: Callable[..., Any], parameter: int) -> frozenset[str] | None:
    """The only keys that a method reads from the argument at position `parameter`, `self` being 0.

    None where that is not certain: the argument is passed on as a whole, a key is made at run time, the same values are
    reached in another way, or there is no source.
    """
    function = _parsed(method)
    name = None if function is None else _argument(function, parameter)
    if function is None or name is None:
        return None
    if any(isinstance(node, ast.Attribute) and node.attr in _ELSEWHERE for node in ast.walk(function)):
        return None
    parents = _parents(function)
    return _certain(_key_of(use, parents) for use in _uses(function, name))


def body_keys_read(handler: Callable[..., Any]) -> frozenset[str] | None:
    """The only keys that a view's handler reads from `request.data`; None where that is not certain."""
    function = _parsed(handler)
    name = None if function is None else _argument(function, 1)
    if function is None or name is None:
        return None
    parents = _parents(function)
    read: list[str | None] = []
    for use in _uses(function, name):
        taken = parents.get(use)
        if not isinstance(taken, ast.Attribute) or taken.attr in _BODY:
            return None
        if taken.attr == "data":
            read.append(_key_of(taken, parents))
    return None if not _ELSEWHERE.isdisjoint(_own_attributes(function)) else _certain(iter(read))


def _certain(keys: Iterator[str | None]) -> frozenset[str] | None:
    read = list(keys)
    return None if None in read else frozenset(key for key in read if key is not None)


def _parsed(method: Callable[..., Any]) -> ast.FunctionDef | None:
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(method)))
        (found,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if not isinstance(found, ast.FunctionDef) or not all(map(_is_harmless, found.decorator_list)):
        return None
    is_blind = any(isinstance(node, ast.Name) and node.id in _SCOPES for node in ast.walk(found))
    return None if is_blind else found


def _is_harmless(decorator: ast.expr) -> bool:
    """Whether a decorator only puts a transaction around the method; what other decorators read is unknown."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).split(".")[-1] == "atomic"


def _argument(function: ast.FunctionDef, place: int) -> str | None:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[place].arg if place < len(arguments) else None


def _parents(function: ast.FunctionDef) -> _Parents:
    return {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}


def _uses(function: ast.FunctionDef, name: str) -> Iterator[ast.Name]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name)


def _own_attributes(function: ast.FunctionDef) -> Iterator[str]:
    """The attributes that a function takes from its first argument, the object itself."""
    own = _argument(function, 0)
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            yield node.attr


def _key_of(use: ast.Name | ast.Attribute, parents: _Parents) -> str | None:
    """The key that one mention of the mapping reads: `x["key"]`, `x.get("key")`, `"key" in x`; else None."""
    outer = parents.get(use)
    if isinstance(outer, ast.Subscript) and outer.value is use:
        return _text(outer.slice)
    if isinstance(outer, ast.Compare) and outer.comparators == [use] and isinstance(outer.ops[0], ast.In | ast.NotIn):
        return _text(outer.left)
    call = parents.get(outer) if outer is not None else None
    if not isinstance(outer, ast.Attribute) or outer.attr not in _BY_KEY or not isinstance(call, ast.Call):
        return None
    return _text(call.args[0]) if call.func is outer and call.args else None


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
