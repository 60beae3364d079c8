"""The nearest name: what a slip of the pen was meant to be, and nothing where no name is like it."""

import time

import pytest

from handfast.core.words.nearest import nearest

FIELDS = ["email", "first_name", "notes", "path", "to", "is_active"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("emial", ["email"]),
        ("emai", ["email"]),
        ("firstName", ["first_name"]),
        ("FIRST-NAME", ["first_name"]),
        ("pth", ["path"]),
        ("ot", ["to"]),
        ("active", ["is_active"]),
        ("data", []),
        ("", []),
        ("verbose", []),
    ],
)
def test_a_slip_finds_its_name_and_another_word_none(wrong: str, meant: list[str]) -> None:
    assert nearest(wrong, FIELDS) == meant


def test_the_nearest_comes_first_and_no_more_than_asked_for() -> None:
    assert nearest("list_file", ["list_files", "list_file_sizes", "lists_file"], 2) == ["list_files", "lists_file"]


def test_a_hostile_name_among_many_takes_milliseconds() -> None:
    began = time.process_time()
    nearest("x" * 100_000, (f"{number}" * 200 for number in range(100_000)))
    assert time.process_time() - began < 0.2
