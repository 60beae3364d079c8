"""What differs from run to run, and that nothing else is changed."""

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given

from handfast.toolkit.testing.transcripts.recording import LONGEST_BLOB, without_per_run_values
from tests.toolkit.testing.json_values import JSON

ID = "01a1e2b3bdd700009077bf014db7"
LONG = "A" * (LONGEST_BLOB + 1)
HASH = f"sha256:{sha256(LONG.encode()).hexdigest()}"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            {"_meta": {"handfast/details": {"request_id": ID}}, "content": [{"text": f"Request {ID} failed."}]},
            {
                "_meta": {"handfast/details": {"request_id": "<request id>"}},
                "content": [{"text": "Request <request id> failed."}],
            },
        ),
        (
            {
                "structuredContent": {"error": {"details": {"request_id": ID, "id": 7}}},
                "content": [{"text": f'"{ID}"'}],
            },
            {
                "structuredContent": {"error": {"details": {"request_id": "<request id>", "id": 7}}},
                "content": [{"text": '"<request id>"'}],
            },
        ),
        ({"structuredContent": {"request_id": ID}}, {"structuredContent": {"request_id": ID}}),
        (
            {
                "content": [
                    {"type": "image", "data": LONG},
                    {"type": "image", "data": "aGk="},
                    {"type": "text", "text": LONG},
                ]
            },
            {
                "content": [
                    {"type": "image", "data": HASH},
                    {"type": "image", "data": "aGk="},
                    {"type": "text", "text": LONG},
                ]
            },
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": LONG}}]},
            {"content": [{"type": "resource", "resource": {"uri": "a:b", "blob": HASH}}]},
        ),
        ({"structuredContent": {"data": LONG}}, {"structuredContent": {"data": LONG}}),
    ],
)
def test_ids_of_requests_and_long_pictures_are_replaced(answer: Any, expected: Any) -> None:
    assert without_per_run_values(answer) == expected


@given(JSON)
def test_nothing_else_is_changed(value: Any) -> None:
    assert without_per_run_values({"structuredContent": value}) == {"structuredContent": value}
