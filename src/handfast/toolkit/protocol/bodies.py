"""The body of one POST and the answer to it: one message, or a batch where the client's revision has them."""

from typing import Final

from handfast.toolkit.protocol.methods import answer_request
from handfast.toolkit.protocol.offer import Offer
from handfast.toolkit.protocol.replies import HEARD, Reply, refused
from handfast.toolkit.protocol.requests import Headers, read_request, version_of
from handfast.wire.codes import INVALID_REQUEST, PARSE_ERROR
from handfast.wire.scan import NotJson, scan_array

_WITH_BATCHES: Final = (None, b"2025-03-26")  # whose clients send no header, because it came later
_LONGEST: Final = 100  # messages in a batch: more than any client sends, and a bound on what one request costs


def answer_body(body: bytes, headers: Headers, offer: Offer) -> Reply:
    is_batch = body.lstrip(b" \t\r\n").startswith(b"[")
    if is_batch and version_of(headers) in _WITH_BATCHES:
        return _answer_batch(body, headers, offer)
    return _answer_message(body, headers, offer)


def _answer_message(raw: bytes, headers: Headers, offer: Offer) -> Reply:
    asked = read_request(raw, headers)
    return asked if isinstance(asked, Reply) else answer_request(asked, offer)


def _answer_batch(body: bytes, headers: Headers, offer: Offer) -> Reply:
    try:
        messages = scan_array(body)
    except NotJson:
        return refused(None, PARSE_ERROR, "The batch is not valid JSON. Send an array of messages.")
    if not 0 < len(messages) <= _LONGEST:
        return refused(None, INVALID_REQUEST, f"A batch holds 1 to {_LONGEST} messages. Send them in such batches.")
    answers = [reply.body for raw in messages if (reply := _answer_in_batch(raw, headers, offer)).body]
    return Reply(200, b"[" + b",".join(answers) + b"]") if answers else HEARD


def _answer_in_batch(raw: bytes, headers: Headers, offer: Offer) -> Reply:
    asked = read_request(raw, headers)
    if isinstance(asked, Reply):
        return asked
    if asked.message.method == "initialize":
        return refused(asked.message.id, INVALID_REQUEST, "initialize must not be part of a batch. Send it alone.")
    return answer_request(asked, offer)
