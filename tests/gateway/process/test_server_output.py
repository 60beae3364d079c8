"""A server's stderr on ours: whole lines, labelled, and nothing that drives a terminal."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handfast.gateway.process.server_output import ServerOutput


def written(capsys: pytest.CaptureFixture[str], chunks: list[bytes], label: str = "[up] ") -> str:
    output = ServerOutput(label)
    for chunk in chunks:
        output(chunk)
    output(b"")
    return capsys.readouterr().err


@pytest.mark.requirement("S10")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(min_size=1) | st.sampled_from([b"\x1b[2J", b"\r", b"\n", "\u202e\u2028é".encode(), b"\x9b"])))
def test_however_it_is_cut_every_line_is_labelled_and_can_be_seen(
    capsys: pytest.CaptureFixture[str], chunks: list[bytes]
) -> None:
    text = written(capsys, chunks)
    assert text == written(capsys, [b"".join(chunks)] if chunks else [])
    for line in text.removesuffix("\n").split("\n") if text else []:
        assert line.startswith("[up] ")
        assert line.replace("\t", "").replace("\u200c", "").replace("\u200d", "").isprintable()


def test_lines_wait_for_their_end_and_characters_for_their_rest(capsys: pytest.CaptureFixture[str]) -> None:
    output = ServerOutput("")
    output("caf\u00e9".encode()[:-1])
    assert capsys.readouterr().err == ""
    output("\u00e9".encode()[-1:] + b" open\nnext")
    assert capsys.readouterr().err == "caf\u00e9 open\n"
    output(b"")
    assert capsys.readouterr().err == "next\n"


def test_what_is_no_text_is_shown_as_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys, [b"a\xff\xc3"], "") == "a\\xff\\xc3\n"


@pytest.mark.requirement("S10")
def test_a_line_without_end_is_passed_on_in_pieces_and_never_gathered(capsys: pytest.CaptureFixture[str]) -> None:
    output = ServerOutput("")
    for _ in range(100):
        output(b"x" * 65_536)
    assert len(output._rest) <= 8192
    output(b"")
    assert capsys.readouterr().err.replace("\n", "") == "x" * 6_553_600
