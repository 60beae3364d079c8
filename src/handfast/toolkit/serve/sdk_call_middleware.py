"""SdkCallMiddleware: answers tool calls inside the SDK's server without its models for parameters and results.

The SDK reads a call's parameters into a model and runs every result through another. Both are judged by handfast, so
the middleware takes over a call once the SDK has checked the request, and returns its result unchanged.
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
_MOST_KNOWN: Final = 256  # different `_meta` that are kept; past this all are dropped
_LONGEST_KNOWN: Final = 2_048
# The SDK calls its middleware provisional, so with other releases calls take the SDK's way, with the same answers.
TRIED: Final = ("2.3.",)


class SoundParams:
    """Checks the parameters of a tools/call by the SDK's own model, and remembers the `_meta` that passed.

    Most of that model concerns `_meta`, which a client sends unchanged with every call.
    """

    def __init__(self) -> None:
        self._known: set[tuple[str, bytes]] = set()

    def require(self, version: str, params: Mapping[str, Any]) -> None:  # Any: JSON
        """Checks the parameters. Raises: ValidationError, as the SDK would."""
        meta = _envelope_text(params) if _is_simple(params) else None
        if meta is not None and (version, meta) in self._known:
            return
        if meta == b"" and version not in MODERN_PROTOCOL_VERSIONS:
            return  # `_meta` is only required since 2026-07-28
        validate_client_request("tools/call", version, params)
        if meta and len(meta) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add((version, meta))


def _is_simple(params: Mapping[str, Any]) -> bool:
    """Whether only `_meta` can be invalid: there is a name, and the arguments are an object or absent."""
    name, arguments = params.get("name"), params.get("arguments")
    if not params.keys() <= _MEMBERS or type(name) is not str or not name.isascii():
        return False
    if arguments is None:
        return True
    try:
        return type(arguments) is dict and "".join(arguments).isascii()
    except TypeError:
        return False  # a key that is not text


def _envelope_text(params: Mapping[str, Any]) -> bytes | None:
    """`_meta` as text, empty if absent; None if it has members that may differ between calls."""
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
    """A middleware for the SDK's server that answers tools/call itself."""

    def __init__(self, toolbox: ServedToolbox, server: Server[Any]) -> None:  # Any: its lifespan
        self._toolbox = toolbox
        self._server = server
        self._server_info = server.server_info_stamp
        self._params = SoundParams()

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        is_open = is_modern or ctx.session.client_params is not None
        is_last = self._server.middleware[-1] is self  # otherwise an author's middleware would be bypassed
        if ctx.method != "tools/call" or params is None or ctx.request_id is None or not (is_open and is_last):
            return await call_next(ctx)
        self._params.require(ctx.protocol_version, params)
        result = await answer_call(self._toolbox, params["name"], params.get("arguments"), ctx)
        if is_modern:
            result["_meta"] = {**result.get("_meta", {}), SERVER_INFO_META_KEY: self._server_info}
        else:
            del result["resultType"]
        return result
