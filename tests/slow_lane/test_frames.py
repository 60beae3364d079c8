"""Frames survive the pipe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.slow_lane.frames import HEADER_BYTES, MOST_BYTES, Job, body_length, pack, unpack_job


@given(st.binary(), st.binary(), st.booleans(), st.floats(0, 10))
def test_a_job_arrives_as_it_was_sent(schema: bytes, value: bytes, wording: bool, seconds: float) -> None:
    job = Job("d", schema, value, wording, show_names=not wording, seconds=seconds)
    frame = pack(job)
    assert body_length(frame[:HEADER_BYTES]) == len(frame) - HEADER_BYTES
    assert unpack_job(frame[HEADER_BYTES:]) == job


def test_a_length_no_peer_would_send_is_refused() -> None:
    with pytest.raises(ValueError, match="larger than any message"):
        body_length((MOST_BYTES + 1).to_bytes(HEADER_BYTES, "big"))
