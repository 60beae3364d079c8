"""The HTTP headers of 2026-07-28 that repeat members of the body: compared with the body, written, encoded."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from handfast.core.call.strict_json import Ambiguous, decode_arguments
from handfast.wire.codes import HEADER_MISMATCH, INVALID_PARAMS
from handfast.wire.eras import META_CAPABILITIES, META_VERSION, MODERN_REVISION
from handfast.wire.members import text_member
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.methods import ABOUT, MUST_NAME
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson

# An argument whose property in the input schema has this keyword is repeated in the header Mcp-Param-{its value}.
_MARK: Final = "x-mcp-header"
_LARGEST_SCHEMA: Final = 256 * 1024  # a schema is read with every call; a usual one has a hundredth of this
_MARKED_TYPES: Final = ("string", "integer", "boolean")  # not a set: `type` in a schema may be unhashable
_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?|")  # spaces at the ends would be lost in transport
_VERSION_KEY: Final = META_VERSION.encode()
_NONE_GIVEN: Final = (None, None, None)
_DIFFERS: Final = "The header {} differs from the body. Send both with the same value."
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2


def check_envelope(message: Message) -> bytes | None:
    """The error, to be sent with HTTP 400, for a modern request without the `_meta` members that each must have."""
    try:
        meta = message.meta()
    except (AmbiguousKeys, NotJson):
        return None  # refused elsewhere, with a clearer error
    missing = [key for key in (META_VERSION, META_CAPABILITIES) if key not in meta]
    if not missing:
        return None
    text = f"params._meta lacks {' and '.join(missing)}. Add what is missing and send the request again."
    return error_reply(message.id, INVALID_PARAMS, text)


def check_modern_headers(headers: list[tuple[bytes, bytes]], message: Message) -> bytes | None:
    """The error, to be sent with HTTP 400, for a header that is missing or differs from the body."""
    given = dict(headers)
    try:
        expected = {b"mcp-protocol-version": text_member(message.meta(), META_VERSION), b"mcp-method": message.method}
        if message.method in MUST_NAME:
            expected[b"mcp-name"] = text_member(message.params(), MUST_NAME[message.method])
    except (AmbiguousKeys, NotJson):
        return None  # refused elsewhere, with a clearer error
    for name, value in expected.items():
        if value is not None and decode_header(given.get(name, b"")) != value:
            text = f"The header {name.decode()} is missing or differs from the body. Send both with the same value."
            return error_reply(message.id, HEADER_MISMATCH, text)
    return None


def find_mismatch(header: Callable[[bytes], bytes | None], message: Message) -> str | None:
    """The error text for a header that is present and differs from the body, or None."""
    given = header(b"mcp-method"), header(b"mcp-name"), header(b"mcp-protocol-version")
    if given == _NONE_GIVEN:
        return None
    method, name, version = given
    said = message.method
    try:
        if method is not None and (said is None or _decoded(method) != said):
            return _DIFFERS.format("Mcp-Method")
        if name is not None and (said is None or said in ABOUT):
            called = text_member(message.params(), ABOUT.get(said or "", ""))
            if called is None or _decoded(name) != called:
                return _DIFFERS.format("Mcp-Name")
        if version is not None and (_VERSION_KEY in message.raw or b"\\" in message.raw):
            named = text_member(message.meta(), META_VERSION)
            if named is not None and _decoded(version) != named:
                return _DIFFERS.format("MCP-Protocol-Version")
    except (AmbiguousKeys, NotJson):
        pass  # refused elsewhere, with a clearer error
    return None


def render_headers(message: Message) -> list[tuple[bytes, bytes]]:
    """The headers that repeat the version, method and name of a modern request. Raises: AmbiguousKeys, NotJson."""
    headers = [
        (b"mcp-protocol-version", MODERN_REVISION.encode()),
        (b"mcp-method", encode_header(message.method or "")),
    ]
    name = text_member(message.params(), ABOUT.get(message.method or "", ""))
    if name is not None:
        headers.append((b"mcp-name", encode_header(name)))
    return headers


def render_params(arguments: bytes | None, schema: bytes) -> list[tuple[bytes, bytes]]:
    """The Mcp-Param headers for the arguments that the input schema marks."""
    declared = _read_marked(schema)
    if declared is None:
        return []
    try:
        given = decode_arguments(arguments or b"{}")
    except Ambiguous:
        return []
    found = ((token, _value_at(given, path)) for path, token in _marked(declared))
    return [
        (b"mcp-param-" + token.lower().encode(), encode_header(_spelt(value)))
        for token, value in found
        if isinstance(value, str | int | float)
    ]


def _read_marked(schema: bytes) -> object:
    """The decoded schema, or None if it marks no argument, is too large to read with every call, or is not JSON."""
    if len(schema) > _LARGEST_SCHEMA or _MARK.encode() not in schema:
        return None
    try:
        return msgspec.json.decode(schema)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _spelt(value: str | int | float) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def find_param_mismatch(headers: list[tuple[bytes, bytes]], arguments: bytes | None, schema: bytes) -> str | None:
    """The error text for a marked argument whose Mcp-Param header is missing or differs, or None."""
    declared = _read_marked(schema)
    if declared is None:
        return None
    try:
        given = decode_arguments(arguments or b"{}")
    except Ambiguous:
        given = None  # ambiguous arguments count as absent, so any marked header is a mismatch
    for path, token in _marked(declared):
        name = b"mcp-param-" + token.lower().encode()
        if not _agrees([value for key, value in headers if key == name], _value_at(given, path)):
            return (
                f"The header Mcp-Param-{token} is missing or differs from the argument. Send both with the same value."
            )
    return None


def _marked(schema: object) -> Iterator[tuple[tuple[str, ...], str]]:
    """Path and header token of each marked property. Marks count only under a chain of `properties`."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), schema)]
    while waiting:
        path, found = waiting.pop()
        if not isinstance(found, dict):
            continue
        token = found.get(_MARK)
        if path and isinstance(token, str) and _TOKEN.fullmatch(token) and found.get("type") in _MARKED_TYPES:
            yield path, token
        properties = found.get("properties")
        if isinstance(properties, dict):
            waiting += [((*path, name), inner) for name, inner in properties.items()]


def _value_at(arguments: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(name)
    return arguments


def _agrees(sent: list[bytes], value: object) -> bool:
    """Whether headers and argument agree: no header for an absent, null or non-scalar value, else one equal header."""
    if not isinstance(value, str | int | float):
        return not sent
    text = _decoded(sent[0]) if len(sent) == 1 else None
    if text is None or isinstance(value, str):
        return text == value
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    try:
        return msgspec.json.decode(text, type=int | float) == value  # 42.0 is 42
    except msgspec.DecodeError:
        return False


def encode_header(text: str) -> bytes:
    """Encodes a header value: as =?base64?…?= unless it is plain visible ASCII that does not look encoded itself."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text.encode()
    return b"=?base64?" + base64.b64encode(text.encode(errors="surrogatepass")) + b"?="


def decode_header(value: bytes) -> str:
    """Decodes a header value, with or without =?base64?…?= around it; empty if it cannot be read."""
    return _decoded(value) or ""


def _decoded(value: bytes) -> str | None:
    """The decoded value. None for a byte beyond ASCII, which readers decode in different ways, or invalid base64."""
    if not value.isascii():
        return None
    if not (value.startswith(b"=?base64?") and value.endswith(b"?=")):
        return value.decode().strip(" \t")
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
