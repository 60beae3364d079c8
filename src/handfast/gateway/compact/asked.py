"""What a call of the dispatcher asks for, read from its arguments without touching those of the action."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from handfast.core.dispatch import ACTION, ARGUMENTS, HELP, OWN_KEYS, RESOURCE, tool_name
from handfast.core.judged_text import Ambiguous, decode_judged
from handfast.core.policy import Violation
from handfast.wire.message import AmbiguousKeys, Members, read_level
from handfast.wire.scan import NotJson

FIND: Final = "find"


@dataclass(frozen=True, slots=True)
class Asked:
    action: str | None = None
    resource: str | None = None
    arguments: bytes | None = None  # of the action, as they came; None where there are none
    wants_help: bool = False  # `help: true`; the action of that name is told apart where the tools are known
    beside: dict[str, object] = field(default_factory=dict)  # keys that are not the dispatcher's

    @property
    def tool(self) -> str | None:
        return None if self.action is None else tool_name(self.action, self.resource)

    @property
    def has_object(self) -> bool:
        """Whether the arguments of the action are an object, or absent."""
        return self.arguments is None or self.arguments.startswith(b"{")


class Refused(Exception):
    """A call of the dispatcher that goes no further."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


def read_asked(text: bytes | None) -> Asked:
    """Raises: Refused."""
    if text is None or text == b"null":
        return Asked()
    if not text.startswith(b"{"):
        reason = "The arguments must be a JSON object. Send one and call again."
        raise Refused(Violation("arguments.schema", reason))
    try:
        members = read_level(text)
        beside = {key: decode_judged(bytes(value)) for key, value in members.items() if key not in OWN_KEYS}
    except (AmbiguousKeys, NotJson, Ambiguous) as problem:
        raise _ambiguous(problem) from None
    given = members.get(ARGUMENTS)
    return Asked(
        action=_read_name(members, ACTION),
        resource=_read_name(members, RESOURCE),
        arguments=None if given is None or bytes(given) == b"null" else bytes(given),
        wants_help=_read_help(members),
        beside=beside,
    )


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a call for help wants to know."""

    tool: str | None = None  # one action whole; None for all of them
    word: str = ""  # only actions with this in their name or description
    ignored: tuple[
        str, ...
    ] = ()  # keys that mean nothing to help: nothing is called, so nothing is lost, but it is said


def read_wishes(asked: Asked, *, has_own_help: bool = False) -> Wishes:
    """`has_own_help`: the server has a tool of that name. Raises: Refused."""
    if asked.wants_help and asked.action is not None and (asked.action != HELP or has_own_help):
        unused = (ARGUMENTS,) if asked.arguments is not None else ()
        return Wishes(asked.tool, ignored=(*asked.beside, *unused))
    given = _read_object(asked.arguments)
    unused = (RESOURCE,) if asked.resource is not None else ()
    ignored = (*asked.beside, *unused, *(key for key in given if key not in (ACTION, FIND)))
    return Wishes(_read_text(given, ACTION), _read_text(given, FIND) or "", ignored)


def _read_object(text: bytes | None) -> dict[str, object]:
    try:
        value = {} if text is None else decode_judged(text)
    except Ambiguous as problem:
        raise _ambiguous(problem) from None
    if not isinstance(value, dict):
        reason = '"arguments" of help must be an object, such as {"action": NAME}. Send one and call again.'
        raise Refused(Violation("dispatch.arguments", reason))
    return value


def _read_text(given: dict[str, object], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        reason = f'"{key}" in the arguments of help must be text. Send it so and call again.'
        raise Refused(Violation("dispatch.arguments", reason))
    return value


def _ambiguous(problem: Exception) -> Refused:
    reason = f"The arguments are ambiguous: {problem}. Send plain JSON and call again."
    return Refused(Violation("arguments.ambiguous", reason))


def _read_name(members: Members, key: str) -> str | None:
    """Raises: Refused, where it is there and no name."""
    found = members.get(key)
    if found is None or bytes(found) == b"null":
        return None
    try:
        name = msgspec.json.decode(found, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        name = ""
    if not name:
        raise Refused(Violation("dispatch.malformed", f'"{key}" must be a name. Send it as text and call again.'))
    return name


def _read_help(members: Members) -> bool:
    """Raises: Refused."""
    try:
        return msgspec.json.decode(members.get(HELP, msgspec.Raw(b"false")), type=bool | None) or False
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Refused(
            Violation("dispatch.malformed", '"help" must be true or false. Send {"help": true} for help.')
        ) from None
