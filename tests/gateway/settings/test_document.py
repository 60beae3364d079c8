"""Reading the settings file: every file that is not plain, unambiguous JSON is refused with its place."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.settings.document import MOST_BYTES, read_document
from handfast.gateway.settings.problems import SettingsError


def problems(path: Path) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        read_document(path)
    return [problem.removeprefix(f"{path}: ") for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; write a starter file with: handfast config init --force"),
        (" \n", "is empty; write a starter file with: handfast config init --force"),
        ('{\n  "a": 1, // why\n}', "line 2 column 11: JSON has no comments; remove this one"),
        ('{\n  /* x */ "a": 1}', "line 2 column 3: JSON has no comments; remove this one"),
        ('{"a": [1, 2,]}', "a comma before a closing bracket is one too many; remove it"),
        ('{"a": 1,\n}', "a comma before a closing bracket is one too many; remove it"),
        ("{'a': 1}", "line 1 column 2: JSON puts text in double quotes"),
        ('{"a": {"b": 1}', "line 1 column 15: the file ends too early; a closing bracket or quote is missing"),
        ('{"a" 1}', "line 1 column 6: not valid JSON (expecting ':' delimiter)"),
        ("[]", 'must be a JSON object such as {"mcpServers": {}}'),
        ('{"a": {"b": NaN}, "c": [-Infinity]}', "a.b is NaN or Infinity, which is not JSON; write a number"),
        ('{"a": {"mode": 1, "mode": 2}}', "a.mode is written twice; keep one of them"),
        ('{"a": [{"x": 1, "x": 1}]}', "a.0.x is written twice; keep one of them"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"a": ' * 200 + "1" + "}" * 200, "is nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "holds a number with too many digits"),
        ('{"a": {"b": "\\ud83d"}}', "a holds text that is not valid Unicode (half of a surrogate pair)"),
    ],
)
def test_a_file_that_is_not_plain_json_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "handfast.json"
    path.write_text(text, "utf-8")

    assert problems(path)[0].endswith(said)


def test_every_repeated_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "handfast.json"
    path.write_text('{"a": 1, "b": {"c": 1, "c": 2}, "a": 2}', "utf-8")

    assert problems(path) == [
        "a is written twice; keep one of them",
        "b.c is written twice; keep one of them",
    ]


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    assert problems(tmp_path / "none.json") == ["does not exist; write one with: handfast config init"]


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert problems(tmp_path) == ["is a folder; name the settings file in it"]


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "handfast.json"
    path.write_text("{}", "utf-8")
    path.chmod(0)

    with as_an_ordinary_user():
        assert problems(path) == ["may not be read by this user; change its permissions"]


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Root may read every file, so a test about permissions steps down for a moment."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_path_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    assert problems(tmp_path / "a\0b") == ["cannot be read; check the path"]


def test_other_encodings_are_refused_and_a_byte_order_mark_is_not(tmp_path: Path) -> None:
    path = tmp_path / "handfast.json"
    path.write_text('{"a": 1}', "utf-16")
    assert problems(path) == ["is not UTF-8; save it as UTF-8"]

    path.write_text('{"a": 1}', "utf-8-sig")
    assert read_document(path) == {"a": 1}


def test_an_enormous_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "handfast.json"
    path.write_bytes(b" " * (MOST_BYTES + 1))

    assert problems(path) == ["cannot be read: it is larger than 1 MiB; name a file with the settings"]


@pytest.mark.requirement("F10")
def test_a_pipe_and_a_device_are_no_settings_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "device.json"):
        assert problems(tmp_path / name) == ["cannot be read: it is not a regular file; name a file with the settings"]


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{" + ",".join(f'"k{n}":1' for n in range(60_000)) + ',"k1":1}', "k1 is written twice; keep one of them"),
        ("[" * 50 + ",".join(["0"] * 400_000) + "]" * 50, "holds more than 10000 values; this is not a settings file"),
    ],
    ids=["keys", "values"],
)
def test_a_file_with_very_much_in_it_is_refused_at_once(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "handfast.json"
    path.write_text(text if text.startswith("{") else f'{{"a":{text}}}', "utf-8")
    began = time.process_time()
    assert said in problems(path)
    assert time.process_time() - began < 2, "seconds; it was a minute"


@given(st.binary(max_size=200))
def test_any_bytes_give_an_object_or_a_one_line_refusal(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(content)

    assert is_object_or_refused_in_one_line(path)


def is_object_or_refused_in_one_line(path: Path) -> bool:
    try:
        return isinstance(read_document(path), dict)
    except SettingsError as refused:
        return bool(refused.problems) and all("\n" not in problem for problem in refused.problems)
