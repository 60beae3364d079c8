"""${NAME} in server entries."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.settings.variables import UnsetVariable, expand
from tests.gateway.settings.dumping import escape

ENVIRON = {"A": "one", "EMPTY": "", "NESTED": "${A}"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${A}", "one"),
        ("x${A}y${A}z", "xoneyonez"),
        ("${env:A}", "one"),
        ("${A:-other}", "one"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY:-other}", "other"),
        ("${NESTED}", "${A}"),
        ("$A pa$$word $", "$A pa$$word $"),
        ("$${A}", "${A}"),
        ("{A}", "{A}"),
    ],
)
def test_variables_are_filled_in_once(text: str, expanded: str) -> None:
    assert expand(text, ENVIRON) == expanded


@pytest.mark.parametrize("text", ["${NONE}", "${env:NONE}"])
def test_an_unset_variable_without_a_default_is_named(text: str) -> None:
    with pytest.raises(UnsetVariable, match=r"^needs the variable NONE, which is not set"):
        expand(text, ENVIRON)


@pytest.mark.parametrize("text", ["${EMPTY}", "${env:EMPTY}", "Bearer ${EMPTY}"])
def test_an_empty_variable_is_as_good_as_none(text: str) -> None:
    with pytest.raises(UnsetVariable, match=r"^needs the variable EMPTY, which is empty"):
        expand(text, ENVIRON)


def test_a_file_gives_its_line(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2 ${A}\n")
    assert expand(f"Bearer ${{file:{tmp_path}/token}}!", ENVIRON) == "Bearer hunter2 ${A}!"


def test_a_file_without_a_value_is_said_and_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_text("x" * 70_000)
    os.mkfifo(tmp_path / "pipe")
    said = {}
    for name in ("none", "empty", "bytes", "long", "pipe", "."):
        with pytest.raises(UnsetVariable) as refused:
            expand(f"${{file:{tmp_path}/{name}}}", ENVIRON)
        said[name] = str(refused.value)
        assert str(tmp_path) not in said[name]
    assert said["none"].startswith("needs a file that cannot be read (No such file or directory)")
    assert said["empty"] == "needs a file that is empty; put the value into it"
    assert "larger than" in said["long"]
    assert "not a regular file" in said["pipe"]


@pytest.mark.parametrize("text", ["${", "${}", "${A", "${input:token}", "${A-b}", "${1}", "${file:}", "${cmd:ls}"])
def test_an_unknown_form_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(UnsetVariable) as refused:
        expand(text, ENVIRON)

    assert str(refused.value) == (
        'holds a "${" that is neither ${NAME}, ${NAME:-default} nor ${file:PATH}; write "$${" for a plain one'
    )


@given(st.text(st.sampled_from("${}A:-x") | st.characters(), max_size=30))
def test_any_text_comes_through_when_escaped(text: str) -> None:
    assert expand(escape(text), ENVIRON) == text
