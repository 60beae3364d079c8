"""Whether a class does something in the framework's own way, and which names its own code uses instead."""

import dis
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

CRUD: Final = ("list", "retrieve", "create", "update", "partial_update", "destroy")
_FRAMEWORKS: Final = ("rest_framework.", "django.", "django_filters.")
_DEEPEST: Final = 8  # decorators around a function
# Code that uses one of these names may return something other than what it received.
_REWRITERS: Final = frozenset(("Response", "JsonResponse", "HttpResponse", "data"))
# The attributes by which the body of a request is read.
_BODY: Final = frozenset(("data", "POST", "FILES", "body", "stream"))


def is_own_way(cls: type, name: str) -> bool:
    """Whether an attribute comes from the framework itself."""
    if is_framework(cls):  # and so are all its bases
        return True
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    return owner is None or is_framework(owner)


def is_framework(owner: type) -> bool:
    """Whether a class is Django's, REST framework's or django-filter's."""
    return _is_theirs(owner.__module__)


@lru_cache(maxsize=1024)
def _is_theirs(module: str) -> bool:
    return f"{module}.".startswith(_FRAMEWORKS)


def is_untouched(cls: type, name: str) -> bool:
    """Whether a method is the framework's, or returns the result of the framework's unchanged."""
    return is_framework(cls) or all(
        is_theirs or (used.calls_base(name) and not used.rewrites) for used, is_theirs in _chain(cls, name)
    )


def hands_over(cls: type, name: str) -> bool:
    """Whether a method is the framework's, or calls the framework's through super()."""
    return is_framework(cls) or any(is_theirs for _, is_theirs in _chain(cls, name))


@dataclass(frozen=True, slots=True)
class NamesUsed:
    """The names in a function's code."""

    variables: frozenset[str] = frozenset()  # that it looks up
    attributes: frozenset[str] = frozenset()  # that it takes from any object
    own: frozenset[str] = frozenset()  # that it takes from `self`
    asked: frozenset[str] = frozenset()  # that it takes from the request
    words: frozenset[str] = frozenset()  # keywords of its calls, and texts
    answers: frozenset[str] = frozenset()  # that it takes from anything but the request

    def calls_base(self, name: str) -> bool:
        return "super" in self.variables and name in self.attributes

    @property
    def rewrites(self) -> bool:
        """Whether the code may return something other than what it received."""
        return not _REWRITERS.isdisjoint(self.variables | self.answers)


def names_in(target: Any) -> NamesUsed:  # Any: whatever stands in a class body
    """The names in a function, and in what the project has wrapped around it."""
    return _of_layers(target) if isinstance(target, FunctionType) else _of_layers.__wrapped__(target)


@lru_cache(maxsize=4096)
def _of_layers(function: Any) -> NamesUsed:  # Any: as above
    layers = [function]
    while len(layers) <= _DEEPEST and (inner := getattr(layers[-1], "__wrapped__", None)) is not None:
        layers.append(inner)
    found = [(layer, code) for layer in layers if isinstance(code := getattr(layer, "__code__", None), CodeType)]
    if not found:
        return NamesUsed()
    own = _names(found[-1][1])
    around = [_names(code) for layer, code in found[:-1] if not _is_theirs(layer.__globals__.get("__name__", ""))]
    return replace(
        own,
        variables=own.variables.union(*(used.variables for used in around)),
        attributes=own.attributes.union(*(used.attributes for used in around)),
        answers=own.answers.union(*(used.answers for used in around)),
    )


@lru_cache(maxsize=4096)
def _names(code: CodeType) -> NamesUsed:
    variables, taken, words = set[str](), set[tuple[object, str]](), set[str]()
    arguments = code.co_varnames[: code.co_argcount]
    for part in with_inner(code):
        before: object = None
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                variables.add(step.argval)
            elif step.opname.endswith(("_ATTR", "_METHOD")):
                # Newer interpreters load two variables in one step; the later one is on top.
                taken.add((before[-1] if isinstance(before, tuple) else before, step.argval))
            before = step.argval
        words.update(_words(part))
    asking = ("request", *arguments[1:2])
    return NamesUsed(
        frozenset(variables),
        frozenset(name for _, name in taken),
        frozenset(name for source, name in taken if source in arguments[:1]),
        frozenset(name for source, name in taken if source in asking),
        frozenset(words),
        frozenset(name for source, name in taken if source not in asking),
    )


def _words(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        yield from (word for word in (constant if isinstance(constant, tuple) else [constant]) if isinstance(word, str))


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of everything defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


@dataclass(frozen=True, slots=True)
class HandlerCode:
    """What the code of a handler uses, reads and answers."""

    uses: frozenset[str]  # what it takes from the view, with what the standard actions it calls take
    words: frozenset[str]
    reads_body: bool
    calls: tuple[str, ...]  # which of the six standard actions it hands over to by itself
    answers_like: str | None  # the standard action whose answer is sent as the framework makes it


def read_handler(view: type, name: str) -> HandlerCode:
    """Follows a handler through its bases and through the standard actions that it calls."""
    uses, asked, words, is_stock = set[str](), set[str](), set[str](), hasattr(view, name)
    pending, seen = [name], set[str]()
    while pending:
        current = pending.pop()
        seen.add(current)
        for used, is_theirs in _chain(view, current):
            uses |= used.own
            asked |= used.asked
            words |= used.words
            is_stock = is_stock and (is_theirs or _passes_on(view, used, current))
        pending.extend(other for other in _standard(view, uses) if other not in seen)
    own = frozenset[str]().union(*(used.own for used, _ in _chain(view, name)))
    calls = tuple(other for other in _standard(view, own) if other != name)
    like = name if name in CRUD else calls[0] if len(calls) == 1 else None
    reads_body = not _BODY.isdisjoint(asked)
    return HandlerCode(frozenset(uses), frozenset(words), reads_body, calls, like if is_stock else None)


def _standard(view: type, names: frozenset[str] | set[str]) -> list[str]:
    return [name for name in CRUD if name in names and hasattr(view, name)]


def _chain(view: type, name: str) -> Iterator[tuple[NamesUsed, bool]]:
    """The functions that run for a name, from the view down to the first that does not call its base."""
    for base in view.__mro__:
        if name in vars(base):
            used = names_in(vars(base)[name])
            yield used, is_framework(base)
            if not used.calls_base(name):
                return


def _passes_on(view: type, used: NamesUsed, name: str) -> bool:
    """Whether a function of the project returns the answer of a base or of one standard action unchanged."""
    leads_on = used.calls_base(name) or len(_standard(view, used.own)) == 1
    return leads_on and not used.rewrites
