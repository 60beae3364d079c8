"""Translates requests and answers between the eras; members that both eras have keep their bytes."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from handfast.wire.codes import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from handfast.wire.eras import (
    LEGACY_REVISION,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_SERVER,
    META_VERSION,
    MODERN_REVISION,
)
from handfast.wire.members import level_of, member
from handfast.wire.message import Members, Message, read_message
from handfast.wire.methods import CACHEABLE
from handfast.wire.replies import answer_message
from handfast.wire.scan import NotJson, scan_array
from handfast.wire.splice import drop, put

_ONLY_MODERN_META: Final = (META_VERSION, META_CAPABILITIES, META_CLIENT, META_LOG_LEVEL)
_ONLY_MODERN_RESULT: Final = ("resultType", "ttlMs", "cacheScope")
_RESOURCE_NOT_FOUND: Final = -32002
_KEPT_FOR_MODERN: Final = range(-32099, -32019)  # codes reserved by 2026-07-28, which allows only its own three
_OWN_OF_MODERN: Final = frozenset((HEADER_MISMATCH, -32021, -32022))
_LEGACY_FOR: Final = {HEADER_MISMATCH: INTERNAL_ERROR, -32021: INVALID_REQUEST, -32022: INVALID_PARAMS}
# Tasks belong to the legacy protocol and are a modern extension with other messages, so they are not translated.
_ONLY_LEGACY_CAPABILITIES: Final = ("tasks",)
_ONLY_MODERN_CAPABILITIES: Final = ("extensions",)


# --- a modern client in front of a legacy server ---------------------------------------------------------------------


def to_legacy_request(message: Message) -> Message:
    """The request without the members that only a modern server reads. Raises: AmbiguousKeys, NotJson."""
    values: dict[str, bytes | None] = {"inputResponses": None, "requestState": None}
    meta = message.meta()
    if meta:
        is_all_modern = all(name in _ONLY_MODERN_META for name in meta)
        own = None if is_all_modern else drop(bytes(message.params()["_meta"]), [(name,) for name in _ONLY_MODERN_META])
        values["_meta"] = own
    return message.with_members(values)


def to_modern_answer(message: Message, method: str, server_info: bytes | None) -> Message:
    """The answer with the members that every modern answer has. Raises: AmbiguousKeys, NotJson."""
    if message.has_error:
        code = message.error_code()
        return message if code is None else _with_code(message, code, _modern_code(code))
    result = message.result()
    if result is None:
        return message
    # A legacy server's own resultType has no meaning, and must not exempt its result from judgement.
    values: dict[str, bytes | None] = {"resultType": b'"complete"'}
    if method in CACHEABLE:
        values |= {name: value for name, value in _NOT_KEPT.items() if name not in result}
    if server_info is not None:
        meta = bytes(result.get("_meta", b""))
        values["_meta"] = put(meta if meta.startswith(b"{") else b"{}", {(META_SERVER,): server_info})
    return message.with_members(values)


# Legacy servers say nothing about caching, so their answers must not be cached.
_NOT_KEPT: Final = {"ttlMs": b"0", "cacheScope": b'"private"'}


def _modern_code(code: int) -> int:
    if code == _RESOURCE_NOT_FOUND:
        return INVALID_PARAMS
    return INTERNAL_ERROR if code in _KEPT_FOR_MODERN and code not in _OWN_OF_MODERN else code


def discovery_of(greeting: Members) -> dict[str, Any]:  # Any: JSON
    """The result of `server/discover` for a server with this result of `initialize`."""
    capabilities = _capabilities(greeting, _ONLY_LEGACY_CAPABILITIES)
    version = greeting.get("protocolVersion", msgspec.Raw(msgspec.json.encode(LEGACY_REVISION)))
    found: dict[str, Any] = {  # Any: JSON
        "resultType": "complete",
        "supportedVersions": [MODERN_REVISION, version],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    }
    if "instructions" in greeting:
        found["instructions"] = greeting["instructions"]
    if "serverInfo" in greeting:
        found["_meta"] = {META_SERVER: greeting["serverInfo"]}
    return found


# --- a legacy client in front of a modern server ---------------------------------------------------------------------


def to_legacy_answer(message: Message, method: str) -> Message:
    """The answer without members that a strict legacy client would reject. Raises: AmbiguousKeys, NotJson."""
    if message.has_error:
        code = message.error_code()
        return message if code is None else _with_code(message, code, _LEGACY_FOR.get(code, code))
    result = message.result()
    if result is None:
        return message
    values: dict[str, bytes | None] = dict.fromkeys(_ONLY_MODERN_RESULT)
    structured = result.get("structuredContent")
    if structured is not None and not bytes(structured).startswith(b"{"):
        values["structuredContent"] = None
    if method == "tools/list" and "tools" in result:
        values["tools"] = _legacy_tools(bytes(result["tools"]))
    return message.with_members(values)


def _legacy_tools(tools: bytes) -> bytes:
    """Drops output schemas that do not describe an object, as a legacy client would reject the whole list for one."""
    try:
        return b"[" + b",".join(_legacy_tool(tool) for tool in scan_array(tools)) + b"]"
    except NotJson:
        return tools


class _OutputSchema(msgspec.Struct):
    type: str | None = None


class _Tool(msgspec.Struct, rename="camel"):
    output_schema: _OutputSchema | msgspec.UnsetType = msgspec.UNSET


_as_clients_read_it = msgspec.json.Decoder(_Tool)


def _legacy_tool(tool: bytes) -> bytes:
    try:
        schema = _as_clients_read_it.decode(tool).output_schema
        if schema is msgspec.UNSET or schema.type == "object":
            return tool
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    return drop(tool, [("outputSchema",)])


def greeting_of(discovery: Members, version: str) -> dict[str, Any]:  # Any: JSON
    """The result of `initialize` for a server with this result of `server/discover`."""
    server_info = level_of(member(discovery, "_meta")).get(META_SERVER)
    found: dict[str, Any] = {  # Any: JSON
        "protocolVersion": version,
        "capabilities": _capabilities(discovery, _ONLY_MODERN_CAPABILITIES),
        "serverInfo": server_info or {"name": "unknown", "version": "unknown"},
    }
    if "instructions" in discovery:
        found["instructions"] = discovery["instructions"]
    return found


# --- both ------------------------------------------------------------------------------------------------------------


def _capabilities(source: Members, withheld: tuple[str, ...]) -> dict[str, Any]:  # Any: JSON
    found = level_of(member(source, "capabilities"))
    return {name: value for name, value in found.items() if name not in withheld}


def _with_code(message: Message, old: int, new: int) -> Message:
    return message if new == old else read_message(put(message.raw, {("error", "code"): b"%d" % new}))


def input_required(message: Message, requests: Mapping[str, Any], state: str) -> Message:  # Any: JSON
    """The `input_required` answer, which asks the client for input before the request can go on."""
    result = {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    return answer_message(message.id, result)
