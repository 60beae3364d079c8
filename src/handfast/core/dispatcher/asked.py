"""Parsing a dispatcher's call: an action with its arguments, or help about one or all actions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from handfast.core.call import rules
from handfast.core.call.policy import Violation
from handfast.core.dispatcher.checks import ACTION, ARGUMENTS, HELP, OWN_KEYS, RESOURCE, tool_name

FIND: Final = "find"

A = TypeVar("A")  # an action's arguments: bytes to be passed on in the gateway, decoded JSON in the toolkit


class DispatcherRefused(Exception):
    """A dispatcher's call that is refused before any action runs."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


@dataclass(frozen=True, slots=True)
class DispatcherCall(Generic[A]):
    action: str | None = None
    resource: str | None = None
    arguments: A | None = None  # of the action, as they came; None if absent
    wants_help: bool = False  # `help: true`; the caller resolves an action named help, as it knows the tools
    beside: Mapping[str, object] = field(default_factory=dict)  # keys that are not the dispatcher's own

    @property
    def tool(self) -> str | None:
        return None if self.action is None else tool_name(self.action, self.resource)


def read_asked(arguments: object) -> DispatcherCall[object]:
    """Parses the arguments of a dispatcher's call. Raises: DispatcherRefused."""
    if arguments is None:
        return DispatcherCall()
    if not isinstance(arguments, Mapping):
        raise no_object()
    return DispatcherCall(
        action=_read_name(arguments, ACTION),
        resource=_read_name(arguments, RESOURCE),
        arguments=arguments.get(ARGUMENTS),
        wants_help=_read_help(arguments),
        beside={key: value for key, value in arguments.items() if key not in OWN_KEYS},
    )


def _read_name(arguments: Mapping[str, object], key: str) -> str | None:
    name = arguments.get(key)
    if name is None or (isinstance(name, str) and name):
        return name
    raise no_name(key)


def _read_help(arguments: Mapping[str, object]) -> bool:
    wanted = arguments.get(HELP)
    if wanted is None or isinstance(wanted, bool):
        return bool(wanted)
    raise no_flag()


def no_object() -> DispatcherRefused:
    return DispatcherRefused(
        Violation(rules.ARGUMENTS_SCHEMA, "The arguments must be a JSON object. Send one and call again."),
    )


def ambiguous(problem: Exception) -> DispatcherRefused:
    reason = f"The arguments are ambiguous: {problem}. Send plain JSON and call again."
    return DispatcherRefused(Violation(rules.ARGUMENTS_AMBIGUOUS, reason))


def no_name(key: str) -> DispatcherRefused:
    return DispatcherRefused(
        Violation(rules.DISPATCH_MALFORMED, f'"{key}" must be a name. Send it as text and call again.')
    )


def no_flag() -> DispatcherRefused:
    return DispatcherRefused(
        Violation(rules.DISPATCH_MALFORMED, '"help" must be true or false. Send {"help": true} for help.')
    )


# --- help -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a call for help asks for."""

    tool: str | None = None  # one action in full; None for all actions
    word: str = ""  # only actions with this in their name or description
    ignored: tuple[str, ...] = ()  # keys without a meaning for help: harmless, but the answer names them


def read_wishes(asked: DispatcherCall[A], read: Callable[[A], object], *, has_own_help: bool = False) -> Wishes:
    """Parses a call for help. `has_own_help`: an action is named help. `read` decodes. Raises: DispatcherRefused."""
    if asked.wants_help and asked.action is not None and (asked.action != HELP or has_own_help):
        unused = (ARGUMENTS,) if asked.arguments is not None else ()
        return Wishes(asked.tool, ignored=(*asked.beside, *unused))
    given = {} if asked.arguments is None else read(asked.arguments)
    if not isinstance(given, dict):
        reason = '"arguments" of help must be an object, such as {"action": NAME}. Send one and call again.'
        raise DispatcherRefused(Violation(rules.DISPATCH_ARGUMENTS, reason))
    unused = (RESOURCE,) if asked.resource is not None else ()
    ignored = (*asked.beside, *unused, *(key for key in given if key not in (ACTION, FIND)))
    return Wishes(_read_text(given, ACTION), _read_text(given, FIND) or "", ignored)


def _read_text(given: dict[str, object], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        reason = f'"{key}" in the arguments of help must be text. Send it so and call again.'
        raise DispatcherRefused(Violation(rules.DISPATCH_ARGUMENTS, reason))
    return value
