"""One spelling for every value, so that equal values have equal hashes."""

import hashlib
import json


def canonical(value: object) -> bytes:
    """The value as JSON text: keys sorted, no spaces, plain ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def sha256_hex(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
