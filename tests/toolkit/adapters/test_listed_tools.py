"""What is learnt from lists: whole ones and parts, by whom they were made for, and compiled once."""

from handfast.toolkit.adapters.listed_tools import MOST_VIEWS, ListedTools

ONE = {"type": "object", "properties": {"a": {}}}
OTHER = {"type": "object", "properties": {"b": {}}}


def test_a_whole_list_says_what_there_is_and_what_is_gone() -> None:
    tools = ListedTools()
    assert not tools.is_known("")
    tools.learn("", {"x": (ONE, None), "y": (ONE, OTHER)})
    assert tools.is_known("")
    found = tools.find("", "y")
    assert found is not None
    assert (found.contract.input_schema, found.contract.output_schema) == (
        b'{"type":"object","properties":{"a":{}}}',
        b'{"type":"object","properties":{"b":{}}}',
    )
    tools.learn("", {"x": (OTHER, None)})
    assert tools.find("", "y") is None
    changed = tools.find("", "x")
    assert changed is not None
    assert changed.contract.output_schema is None
    assert changed.contract.input_schema == b'{"type":"object","properties":{"b":{}}}'


def test_a_part_of_a_list_adds_and_makes_nothing_known_by_itself() -> None:
    tools = ListedTools()
    tools.learn("", {"x": (ONE, None)}, is_whole=False)
    assert tools.find("", "x") is None
    assert not tools.is_known("")
    tools.learn("", {"x": (ONE, None)})
    tools.learn("", {"y": (ONE, None)}, is_whole=False)
    assert tools.find("", "x") is not None
    assert tools.find("", "y") is not None
    tools.learn("", {"x": (ONE, None)})  # the same whole list again: what was found beside it stays
    assert tools.find("", "y") is not None


def test_lists_are_kept_apart_by_whom_they_were_made_for_and_compiled_once_for_all() -> None:
    tools = ListedTools()
    tools.learn("a", {"x": (ONE, None)})
    tools.learn("b", {"x": (ONE, None), "y": (ONE, None)})
    assert tools.find("a", "y") is None
    assert tools.find("a", "x") is tools.find("b", "x")
    kept = tools.find("a", "x")
    tools.learn("a", {"x": (ONE, None), "z": (ONE, None)})
    assert tools.find("a", "x") is kept


def test_the_oldest_view_makes_room_and_forgetting_takes_all() -> None:
    tools = ListedTools()
    for number in range(MOST_VIEWS + 1):
        tools.learn(str(number), {"x": (ONE, None)})
    assert [tools.is_known(str(number)) for number in (0, 1, MOST_VIEWS)] == [False, True, True]
    tools.forget()
    assert not tools.is_known(str(MOST_VIEWS))
