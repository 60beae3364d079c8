"""Texts within every bound that took seconds to read, and nothing else happened meanwhile.

Each is counted in the CPU time of this thread, ten times what it takes and a tenth of what it took.
"""

import json
import time
from collections.abc import Callable

import pytest

from handfast.core.call.strict_json import decode_arguments
from handfast.core.words.redaction import redact_value
from handfast.wire.headers import find_param_mismatch, render_params
from handfast.wire.message import BadMessage, read_message
from handfast.wire.sse import SseEvent, render_event

pytestmark = pytest.mark.requirement("F4")

MARKS = "\u0315\u0300" * 30_000
TINY = b"2.2250738585072011e-308"
NUMBERS = b'{"a":[' + b",".join([TINY] * 99_000) + b"]}"
MANY = b'{"a":[' + b",".join([b"{}"] * 1_200_000) + b"]}"
MARKED = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}


def seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def refuse(message: object) -> None:
    with pytest.raises(BadMessage, match="256 characters"):
        read_message(json.dumps(message).encode())


@pytest.mark.parametrize("message", [{"id": 1, "method": "a" + MARKS}, {"method": "notifications/a" + MARKS}])
def test_a_method_of_combining_marks_is_refused(message: dict[str, object]) -> None:
    assert seconds(lambda: refuse({"jsonrpc": "2.0", **message})) < 0.2


def test_keys_with_escapes_are_found_in_one_pass() -> None:
    keys = b",".join(rb'"\u0061k%d":1' % number for number in range(2000))
    text = b'{"jsonrpc":"2.0","id":1,"method":"ping",%b,"x":"\\ud800%b"}' % (keys, b"y" * 3_500_000)
    assert seconds(lambda: read_message(text)) < 1.0


def test_numbers_at_the_lower_end_of_a_double_are_read() -> None:
    assert seconds(lambda: decode_arguments(NUMBERS)) < 0.3
    assert decode_arguments(b'{"a":[%b]}' % b",".join([TINY] * 20)) == {"a": [float(TINY)] * 20}


@pytest.mark.parametrize("arguments", [NUMBERS, MANY], ids=["tiny numbers", "many objects"])
def test_arguments_are_compared_with_headers_within_bounds(arguments: bytes) -> None:
    schema = json.dumps(MARKED).encode()
    assert seconds(lambda: render_params(arguments, schema)) < 0.3
    assert seconds(lambda: find_param_mismatch([], arguments, schema)) < 0.3


def test_a_schema_that_is_megabytes_long_wants_no_headers() -> None:
    schema = json.dumps({**MARKED, "enum": ["x" * 100] * 50_000}).encode()
    assert seconds(lambda: render_params(b'{"a":"b"}', schema)) < 0.02
    assert render_params(b'{"a":"b"}', schema) == []
    assert render_params(b'{"a":"b"}', json.dumps(MARKED).encode()) == [(b"mcp-param-a", b"b")]


@pytest.mark.parametrize(
    "value", [{MARKS: 1}, {f"password{number}": 1 for number in range(90_000)}], ids=["a long name", "many secrets"]
)
def test_what_is_kept_of_arguments_is_bounded_by_their_names_too(value: object) -> None:
    assert seconds(lambda: redact_value(value)) < 0.1
    assert len(json.dumps(redact_value(value))) < 20_000


def test_lines_of_an_event_that_may_be_messages_are_looked_at_within_bounds() -> None:
    line = b'{%b,"a":{"result":1}}' % b",".join(b'"k%d":1' % number for number in range(9000))
    event = SseEvent(b"[\n%b\n]" % b"\n,\n".join([line] * 80), has_lines=True)
    assert seconds(lambda: render_event(event.data, event)) < 0.2
