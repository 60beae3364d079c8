"""Which HTTP status 2026-07-28 asks for."""

import pytest

from handfast.wire.eras import http_status
from handfast.wire.message import read_message


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ('"result":{}', 200),
        ('"result":{"error":{"code":-32601}}', 200),
        ('"error":{"code":-32601,"message":"x"}', 404),
        ('"error":{"code":-32020,"message":"x"}', 400),
        ('"error":{"code":-32021,"message":"x"}', 400),
        ('"error":{"code":-32022,"message":"x"}', 400),
        ('"error":{"code":-32602,"message":"x"}', 200),
        ('"error":{"message":"x"}', 200),
        ('"error":{"code":"-32601"}', 200),
        ('"error":"text"', 200),
    ],
)
def test_errors_of_the_envelope_have_a_status_of_their_own(answer: str, status: int) -> None:
    assert http_status(read_message(f'{{"jsonrpc":"2.0","id":1,{answer}}}'.encode())) == status
