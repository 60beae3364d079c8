"""Checks of a modern request before it is forwarded: ambiguity, envelope, headers, version, legacy methods."""

from collections.abc import Sequence

from handfast.wire.codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from handfast.wire.eras import META_VERSION, MODERN_REVISION
from handfast.wire.headers import check_envelope, check_modern_headers
from handfast.wire.members import text_member
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.methods import ONLY_LEGACY
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson


def find_fault(message: Message, headers: list[tuple[bytes, bytes]] | None, supported: Sequence[str]) -> bytes | None:
    """The error, HTTP status 400, for a request that fails one of the checks. Over stdio `headers` is None."""
    fault = find_ambiguity(message) or check_envelope(message)
    if fault is None and headers is not None:
        fault = check_modern_headers(headers, message)
    return fault or _check_version(message, supported)


def find_ambiguity(message: Message) -> bytes | None:
    """The error for a message whose params or _meta two parsers could read differently."""
    try:
        message.meta()
    except AmbiguousKeys as problem:
        text = f"The message is ambiguous: {problem}. Send each key once."
    except NotJson:
        text = "The params of the message cannot be read. Send valid JSON."
    else:
        return None
    return error_reply(message.id, INVALID_REQUEST, text)


def _check_version(message: Message, supported: Sequence[str]) -> bytes | None:
    requested = text_member(message.meta(), META_VERSION)
    if requested is None:
        return error_reply(message.id, INVALID_PARAMS, f"params._meta must name {META_VERSION} as a string.")
    if requested == MODERN_REVISION:
        return None
    text = "This revision is not spoken here in this way. Choose one of those in data.supported."
    data = {"supported": list(supported), "requested": requested}
    return error_reply(message.id, UNSUPPORTED_VERSION, text, data=data)


def find_legacy_method(message: Message) -> bytes | None:
    """The error for a method that only legacy revisions have; over HTTP its status is 404."""
    if message.method not in ONLY_LEGACY:
        return None
    text = f"There is no {message.method} in {MODERN_REVISION}. Send initialize without _meta to use an older revision."
    return error_reply(message.id, METHOD_NOT_FOUND, text)
