"""What a modern request must say, wherever it comes from."""

import json

import pytest
from tests.contracts.rig import MODERN_META, Json

from handfast.wire.eras import says_modern
from handfast.wire.message import Message, read_message
from handfast.wire.modern_request import find_fault, find_legacy_method

VERSION = "io.modelcontextprotocol/protocolVersion"


def request(meta: Json, method: str = "tools/list") -> Message:
    return read_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}).encode())


@pytest.mark.parametrize(
    ("meta", "is_modern"), [(MODERN_META, True), ({VERSION: "x"}, True), ({}, False), ({"progressToken": 1}, False)]
)
def test_a_message_that_names_its_revision_is_modern(meta: Json, is_modern: bool) -> None:
    assert says_modern(request(meta)) is is_modern


def test_an_ambiguous_message_is_not_taken_for_modern() -> None:
    twice = f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"_meta":{{"{VERSION}":"a","{VERSION}":"b"}}}}}}'
    assert not says_modern(read_message(twice.encode()))


def test_a_line_has_no_headers_to_check() -> None:
    assert find_fault(request(MODERN_META), None, ["2026-07-28"]) is None
    fault = find_fault(request(MODERN_META), [], ["2026-07-28"])
    assert fault is not None
    assert json.loads(fault)["error"]["code"] == -32020


def test_what_is_spoken_here_is_said_with_the_refusal() -> None:
    fault = find_fault(request({**MODERN_META, VERSION: "2025-11-25"}), None, ["2026-07-28", "2025-11-25"])
    assert fault is not None
    error = json.loads(fault)["error"]
    assert (error["code"], error["data"]) == (
        -32022,
        {"supported": ["2026-07-28", "2025-11-25"], "requested": "2025-11-25"},
    )


@pytest.mark.parametrize(("method", "is_found"), [("ping", False), ("tools/list", True), ("tasks/get", True)])
def test_only_what_the_revision_lacks_is_refused(method: str, is_found: bool) -> None:
    assert (find_legacy_method(request(MODERN_META, method)) is None) is is_found
