"""A transcript as a file: readable, the same bytes for the same session, and the same session back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.toolkit import Actor
from handfast.toolkit.testing.transcripts.recording import record
from handfast.toolkit.testing.transcripts.transcript import Transcript, Turn
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.testing.json_values import JSON

ADA = Actor(id="ada", name="Ada")


@pytest.mark.requirement("002-12")
def test_a_saved_transcript_is_lines_of_json_and_loads_as_it_was(tmp_path: Path) -> None:
    steps: list[Any] = [("create_contact", {"email": "a"}), ("get_contact", {"id": 2}), ("nope", {})]
    transcript = record(make_toolbox("result"), steps, actor=ADA)
    transcript.save(tmp_path / "session.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "session.jsonl").read_text("utf-8").splitlines()]
    assert lines[0] == {
        "transcript": 1,
        "server": "contacts",
        "mode": "2026-07-28",
        "actor": {"id": "ada", "name": "Ada"},
    }
    assert [(line["method"], line["params"]) for line in lines[1:]] == [
        ("tools/call", {"name": name, "arguments": arguments}) for name, arguments in steps
    ]
    assert lines[1]["result"]["structuredContent"]["data"] == {"id": 1, "email": "a", "born": None, "score": 0.5}
    assert lines[2]["result"]["isError"] is True
    assert lines[3]["error"]["code"] == -32602
    assert Transcript.load(tmp_path / "session.jsonl") == transcript


def test_the_same_session_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        steps: list[Any] = ["tools/list", ("go_wrong", {"how": "raise"}), ("create_contact", {"data": {"email": "é"}})]
        record(make_toolbox("status"), steps).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert "é".encode() in (tmp_path / "one").read_bytes()


@given(st.dictionaries(st.text(), JSON), st.dictionaries(st.text(), JSON))
def test_whatever_was_said_comes_back(tmp_path_factory: Any, arguments: Any, answer: Any) -> None:
    turns = (Turn("tools/call", {"name": "t", "arguments": arguments}, {"result": answer}),)
    path = tmp_path_factory.getbasetemp() / "whatever.jsonl"
    Transcript("s", turns).save(path)
    back = Transcript.load(path)
    assert back == Transcript("s", turns)
    assert json.dumps(back.turns[0].params) == json.dumps(turns[0].params)  # in the order in which it was sent


def test_odd_text_is_kept(tmp_path: Path) -> None:
    turns = (Turn("tools/call", {"name": "t", "arguments": {"a": "\ud800 \u2028 \x85 \r"}}, {"error": {"code": 1}}),)
    Transcript("s", turns, "legacy").save(tmp_path / "odd")
    assert Transcript.load(tmp_path / "odd") == Transcript("s", turns, "legacy")


@pytest.mark.parametrize(
    "text", ["", "{}", "nothing", '{"transcript": 2, "server": "s", "mode": "auto", "actor": null}', "[]\n[]"]
)
def test_another_file_is_no_transcript(text: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"^other is not a transcript of this version; record it again\.$"):
        Transcript.load(tmp_path / "other")


def test_a_turn_without_an_answer_is_none(tmp_path: Path) -> None:
    head = '{"transcript": 1, "server": "s", "mode": "auto", "actor": null}\n'
    (tmp_path / "half").write_text(head + '{"method": "tools/call", "params": {}}\n', "utf-8")
    with pytest.raises(ValueError, match="is not a transcript"):
        Transcript.load(tmp_path / "half")
