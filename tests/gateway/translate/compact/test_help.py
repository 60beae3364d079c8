"""What help says: all actions within a bound, those with a word in them, one action whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.contract import ToolContract
from handfast.gateway.translate.compact.help import render_action, render_overview

ISSUE = ToolContract(
    "create_issue", b'{"type":"object", "maximum": 1.0}', b"true", b'{"x": 1}', "Opens an issue. Long."
)
LABEL = ToolContract("add_label", b"{}", None, None, "")
TOOLS = {tool.name: tool for tool in (ISSUE, LABEL)}
WAYS = (
    'The fields of one: {"action": "help", "arguments": {"action": NAME}}.'
    ' To call it: {"action": NAME, "arguments": {its fields}}.'
)


def test_the_overview_has_a_line_for_each_action() -> None:
    text = render_overview(TOOLS, found="", ignored=(), is_whole=True)
    assert text == f"2 actions:\n- create_issue: Opens an issue\n- add_label\n{WAYS}"


def test_a_word_narrows_it_and_what_was_ignored_is_said() -> None:
    text = render_overview(TOOLS, found="ISSUE", ignored=("data", "x\n"), is_whole=True)
    assert text == (
        f"1 of 2 actions:\n- create_issue: Opens an issue\n{WAYS}\nNothing was called. Ignored arguments: data, x?."
    )
    assert render_overview(TOOLS, found="zzz", ignored=(), is_whole=True) == f"0 of 2 actions.\n{WAYS}"


def test_a_list_that_was_cut_says_how_to_narrow_it() -> None:
    narrow = 'Narrow the list with {"action": "help", "arguments": {"find": WORD}}.'
    assert f"\nThere are more. {narrow}\n" in render_overview(TOOLS, found="", ignored=(), is_whole=False)
    many = {f"{n}": ToolContract(f"{n}", None, None, None, "word " * 30) for n in range(1000)}
    text = render_overview(many, found="", ignored=(), is_whole=True)
    shown = text.count("\n- ")
    assert f"\n{1000 - shown} more. {narrow}\n" in text


@given(st.dictionaries(st.text(min_size=1, max_size=300), st.text(max_size=300), max_size=500), st.integers(1, 30))
def test_the_overview_is_bounded(said: dict[str, str], times: int) -> None:
    tools = {name: ToolContract(name, None, None, None, words * times) for name, words in said.items()}
    assert len(render_overview(tools, found="", ignored=list(said), is_whole=True)) < 36_000


def test_one_action_is_json_with_the_schemas_as_their_server_wrote_them() -> None:
    text = render_action(ISSUE, ignored=())
    assert '"inputSchema":{"type":"object", "maximum": 1.0}' in text
    assert json.loads(text) == {
        "action": "create_issue",
        "description": "Opens an issue. Long.",
        "inputSchema": {"type": "object", "maximum": 1.0},
        "outputSchema": True,
        "annotations": {"x": 1},
    }
    assert json.loads(render_action(LABEL, ignored=["data"])) == {
        "action": "add_label",
        "description": "",
        "inputSchema": {},
        "ignored": ["data"],
    }
