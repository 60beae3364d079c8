"""SoundParams: parameters of a tools/call are held to the SDK's own model, which is asked once for what stays the same.

Most of that model is about `_meta`, which a client sends unchanged with every call.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from mcp.types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

_MEMBERS: Final = frozenset({"name", "arguments", "_meta"})
_ENVELOPE: Final = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_MOST_KNOWN: Final = 256  # clients whose `_meta` is remembered; then it begins anew
_LONGEST_KNOWN: Final = 2_048


class SoundParams:
    """Asks the SDK, and remembers which `_meta` it found nothing wrong with."""

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
