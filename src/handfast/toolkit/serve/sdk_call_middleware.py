"""SdkCallMiddleware: answers tool calls inside the SDK's server, without the SDK's own second reading of both ends.

The SDK reads a call's parameters into a model and runs every result through another one. Both were judged here, so
the call is taken over once the SDK has checked the request, and its result is handed on as it is.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import msgspec
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handfast.toolkit.serve.answering import Context, ServedToolbox, answer_call

_MEMBERS: Final = frozenset({"name", "arguments", "_meta"})
_ENVELOPE: Final = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_MOST_KNOWN: Final = 256  # clients whose `_meta` is remembered; then all are forgotten
_LONGEST_KNOWN: Final = 2_048
# The SDK calls its middleware provisional: with other releases calls take the long way, and get the same answers.
TRIED: Final = ("2.3.",)


class SoundParams:
    """Holds the parameters of a tools/call to the SDK's own model, which is asked once for what stays the same.

    Most of that model is about `_meta`, which a client sends unchanged with every call.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, bytes]] = set()

    def require(self, version: str, params: Mapping[str, Any]) -> None:  # Any: JSON
        """Raises: ValidationError, as the SDK would."""
        meta = _envelope_text(params) if _is_simple(params) else None
        if meta is not None and (version, meta) in self._known:
            return
        if meta == b"" and version not in MODERN_PROTOCOL_VERSIONS:
            return  # it is only asked for since 2026-07-28
        validate_client_request("tools/call", version, params)
        if meta and len(meta) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add((version, meta))


def _is_simple(params: Mapping[str, Any]) -> bool:
    """Whether there is nothing to find but in `_meta`: a name, and an object of arguments or none."""
    name, arguments = params.get("name"), params.get("arguments")
    if not params.keys() <= _MEMBERS or type(name) is not str or not name.isascii():
        return False
    if arguments is None:
        return True
    try:
        return type(arguments) is dict and "".join(arguments).isascii()
    except TypeError:
        return False  # a key that is no text


def _envelope_text(params: Mapping[str, Any]) -> bytes | None:
    """`_meta` as text, empty without any; None where it is not the same with every call."""
    if "_meta" not in params:
        return b""
    meta = params["_meta"]
    if type(meta) is not dict or not meta.keys() <= _ENVELOPE:
        return None
    try:
        return msgspec.json.encode(meta)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def is_tried() -> bool:
    return version("mcp").startswith(TRIED)


class SdkCallMiddleware:
    """One of the SDK's middlewares."""

    def __init__(self, toolbox: ServedToolbox, server: Server[Any]) -> None:  # Any: its lifespan
        self._toolbox = toolbox
        self._server = server
        self._server_info = server.server_info_stamp
        self._params = SoundParams()

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        is_open = is_modern or ctx.session.client_params is not None
        is_last = self._server.middleware[-1] is self  # else an author's own would be passed over
        if ctx.method != "tools/call" or params is None or ctx.request_id is None or not (is_open and is_last):
            return await call_next(ctx)
        self._params.require(ctx.protocol_version, params)
        result = await answer_call(self._toolbox, params["name"], params.get("arguments"), ctx)
        if is_modern:
            result["_meta"] = {**result.get("_meta", {}), SERVER_INFO_META_KEY: self._server_info}
        else:
            del result["resultType"]
        return result
