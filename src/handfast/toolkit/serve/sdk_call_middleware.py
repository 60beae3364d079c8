"""InPlace: tool calls are answered where the SDK lets a server in, without what it would do to them a second time.

The SDK reads a call's parameters into a model and runs every result through another one. Both were judged here, so
the call is taken over once the SDK has checked the request, and its result is handed on as it is.
"""

from importlib.metadata import version
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handfast.toolkit.serve.answering import Context, ServedToolbox, answer_call
from handfast.toolkit.serve.sound_params import SoundParams

# The SDK calls its middleware provisional: with other releases calls take the long way, and get the same answers.
TRIED: Final = ("2.3.",)


def is_tried() -> bool:
    return version("mcp").startswith(TRIED)


class InPlace:
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
