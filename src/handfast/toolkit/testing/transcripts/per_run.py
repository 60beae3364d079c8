"""What differs from run to run in an answer, and what stands in its place in a transcript. Nothing else is changed.

- `request_id` in the details of a failure: the id under which the call is on record. It becomes `<request id>`,
  wherever in that answer it stands.
- `data` and `blob` of content blocks, such as pictures: what is long becomes its SHA-256, so that a transcript can be
  read. Another picture still is another answer.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

REQUEST_ID = "<request id>"
LONGEST_BLOB = 256  # characters of base64 that stay as they are


def without_per_run_values(answer: Any) -> Any:  # Any: JSON
    for request_id in set(_request_ids(answer)):
        answer = _replaced(answer, request_id)
    return _shortened(answer)


def _request_ids(value: Any) -> Iterator[str]:  # Any: JSON
    """Those in the details of a failure; one in a tool's own data is the tool's."""
    for key, inner in _entries(value):
        if key in ("details", "handfast/details") and isinstance(inner, dict):
            request_id = inner.get("request_id")
            if isinstance(request_id, str) and request_id:
                yield request_id
        yield from _request_ids(inner)


def _replaced(value: Any, request_id: str) -> Any:  # Any: JSON
    if isinstance(value, str):
        return value.replace(request_id, REQUEST_ID)
    if isinstance(value, list):
        return [_replaced(inner, request_id) for inner in value]
    if isinstance(value, dict):
        return {key: _replaced(inner, request_id) for key, inner in value.items()}
    return value


def _shortened(answer: Any) -> Any:  # Any: JSON
    content = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(content, list):
        return answer
    return {**answer, "content": [_block(block) for block in content]}


def _block(block: Any) -> Any:  # Any: JSON
    if not isinstance(block, dict):
        return block
    if isinstance(resource := block.get("resource"), dict):
        block = {**block, "resource": _block(resource)}
    long = {key: block[key] for key in ("data", "blob") if len(str(block.get(key, ""))) > LONGEST_BLOB}
    return block | {key: f"sha256:{sha256(str(text).encode()).hexdigest()}" for key, text in long.items()}


def _entries(value: Any) -> Iterator[tuple[str, Any]]:  # Any: JSON
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from (("", inner) for inner in value)
