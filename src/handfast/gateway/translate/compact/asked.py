"""A call of the dispatcher, read from its arguments without decoding those of the action."""

import msgspec

from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.core.dispatcher.asked import DispatcherCall, Wishes, ambiguous, no_flag, no_name, no_object
from handfast.core.dispatcher.asked import read_wishes as wishes_of
from handfast.core.dispatcher.checks import ACTION, ARGUMENTS, HELP, OWN_KEYS, RESOURCE
from handfast.wire.message import AmbiguousKeys, Members, read_level
from handfast.wire.scan import NotJson

_TYPES = {b'"': "a string", b"[": "an array", b"t": "a boolean", b"f": "a boolean"}


def read_asked(text: bytes | None) -> DispatcherCall[bytes]:
    """Raises: DispatcherRefused."""
    if text is None or text == b"null":
        return DispatcherCall()
    if not text.startswith(b"{"):
        raise no_object()
    try:
        members = read_level(text)
        beside = {key: decode_judged(bytes(value)) for key, value in members.items() if key not in OWN_KEYS}
    except (AmbiguousKeys, NotJson, Ambiguous) as problem:
        raise ambiguous(problem) from None
    given = members.get(ARGUMENTS)
    return DispatcherCall(
        action=_read_name(members, ACTION),
        resource=_read_name(members, RESOURCE),
        arguments=None if given is None or bytes(given) == b"null" else bytes(given),
        wants_help=_read_help(members),
        beside=beside,
    )


def has_object(asked: DispatcherCall[bytes]) -> bool:
    """Whether the arguments of the action are an object, or absent."""
    return asked.arguments is None or asked.arguments.startswith(b"{")


def type_sent(asked: DispatcherCall[bytes]) -> str:
    """What was sent as the arguments of the action, such as `an array`."""
    return _TYPES.get((asked.arguments or b"")[:1], "a number")


def names_within(asked: DispatcherCall[bytes]) -> list[str]:
    """The names that the arguments of the action have, as far as they can be read."""
    try:
        return [] if asked.arguments is None or not has_object(asked) else list(read_level(asked.arguments))
    except (AmbiguousKeys, NotJson):
        return []


def read_wishes(asked: DispatcherCall[bytes], *, has_own_help: bool = False) -> Wishes:
    """`has_own_help`: the server has a tool named help. Raises: DispatcherRefused."""
    return wishes_of(asked, _decode, has_own_help=has_own_help)


def _decode(text: bytes) -> object:
    try:
        return decode_judged(text)
    except Ambiguous as problem:
        raise ambiguous(problem) from None


def _read_name(members: Members, key: str) -> str | None:
    """A name, or None where it is absent. Raises: DispatcherRefused where it is not a text, or empty."""
    found = members.get(key)
    if found is None or bytes(found) == b"null":
        return None
    try:
        name = msgspec.json.decode(found, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        name = ""
    if not name:
        raise no_name(key)
    return name


def _read_help(members: Members) -> bool:
    """Raises: DispatcherRefused."""
    try:
        return msgspec.json.decode(members.get(HELP, msgspec.Raw(b"false")), type=bool | None) or False
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise no_flag() from None
