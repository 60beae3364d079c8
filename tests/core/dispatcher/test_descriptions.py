"""The words of dispatchers: one line for each action, bounded lists, the schema they publish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.dispatcher.descriptions import dispatcher_schema, help_form, list_actions, one_line, render_use

SAID = st.dictionaries(st.text(min_size=1, max_size=128), st.text(max_size=300), max_size=400)


@given(st.text(max_size=400), st.integers(16, 120))
def test_a_description_becomes_one_short_line(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert line == "" or line.isprintable()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Make it so. Then more.", "Make it so"),
        ("Make\n\n  it so.", "Make it so"),
        ("Use e.g.this v1.2 of it", "Use e.g.this v1.2 of it"),
        ("x" * 100, "x" * 79 + "…"),
        ("", ""),
    ],
)
def test_the_line_is_the_first_sentence(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_tool_called_help_moves_the_way_to_help() -> None:
    assert help_form(["a"]) == '{"action": "help", "arguments": {"action": NAME}}'
    assert help_form(["a", "help"]) == '{"action": NAME, "help": true}'


@given(SAID, st.text(max_size=3))
def test_every_action_with_the_word_is_listed_or_counted(said: dict[str, str], word: str) -> None:
    shown, left = list_actions(said, word)
    folded = word.casefold()
    wanted = [name for name, words in said.items() if folded in name.casefold() or folded in words.casefold()]
    assert list(shown) == wanted[: len(shown)]
    assert len(shown) + left == len(wanted)
    assert sum(len(name) + len(words) for name, words in shown.items()) <= 32_000


@given(SAID, st.integers(1, 30))
def test_what_a_description_says_of_actions_is_bounded(said: dict[str, str], times: int) -> None:
    assert len(render_use({name: words * times for name, words in said.items()})) < 4_400


def test_a_resource_is_offered_where_names_have_that_form() -> None:
    assert "resource" not in dispatcher_schema(["create"])["properties"]
    assert "resource" in dispatcher_schema(["contacts__create"])["properties"]
