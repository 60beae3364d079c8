"""JSON-RPC error codes: the protocol's, and handfast's own."""

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020  # 2026-07-28, always with HTTP 400
UNSUPPORTED_VERSION: Final = -32022  # as above

# Our own codes, outside -32768…-32000, which JSON-RPC reserves.
UPSTREAM_FAILED: Final = -31001
UPSTREAM_TIMEOUT: Final = -31002
RECORDING_FAILED: Final = -31003
REQUEST_TOO_LARGE: Final = -31004
