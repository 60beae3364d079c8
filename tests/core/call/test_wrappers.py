"""Undeclared objects: what the text tells an agent to do with each."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.arguments import check_unknown
from handfast.core.call.policy import InputPolicy
from handfast.core.call.wrappers import find_nested_wrappers, nested_wrapper_message
from handfast.core.schema.declared import Declared, read_declared

CONTACT = read_declared({"properties": {"email": {}, "first_name": {}}})
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)

HOMELESS = (
    "None of the fields in 'payload' is declared: "
    'send it as a declared field that takes an object ("site", "contact"), or leave it out.'
)


@pytest.mark.requirement("000-8")
@pytest.mark.requirement("000-13")
def test_the_message_has_four_lines_and_is_none_for_a_flat_call() -> None:
    assert nested_wrapper_message({"data": {"email": "a", "first_name": "b"}}, CONTACT) == (
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
        'Declared fields: ["email", "first_name"].'
    )
    assert nested_wrapper_message({"email": "a", "first_name": "b"}, CONTACT) is None
    assert nested_wrapper_message({}, CONTACT) is None


@pytest.mark.requirement("000-4")
@given(st.dictionaries(NAMES, JSON, max_size=5), st.sets(NAMES, max_size=4), st.frozensets(NAMES, max_size=2))
def test_exactly_the_undeclared_objects_offend_in_call_order(
    arguments: dict[str, object], names: set[str], ignore: frozenset[str]
) -> None:
    declared = read_declared({"properties": {name: {} for name in names}})
    expected = [
        key for key, value in arguments.items() if isinstance(value, dict) and key not in names and key not in ignore
    ]
    assert find_nested_wrappers(arguments, declared, ignore) == expected
    message = nested_wrapper_message(arguments, declared, ignore)
    assert (message is None) == (expected == [])


@pytest.mark.requirement("D17")
@given(
    st.dictionaries(
        st.sampled_from(["data", "config"]), st.dictionaries(st.just("field"), st.integers(10**9)), min_size=1
    )
)
def test_the_message_never_holds_a_value(arguments: dict[str, dict[str, int]]) -> None:
    message = nested_wrapper_message(arguments, CONTACT) or ""
    assert not any(str(value) in message for inner in arguments.values() for value in inner.values())


@pytest.mark.requirement("000-14")
@given(st.integers(1, 40))
def test_field_lists_are_cut_after_twenty_names(count: int) -> None:
    inner = {f"f{number}": 1 for number in range(count)}
    message = nested_wrapper_message({"data": inner}, read_declared({"properties": {name: {} for name in inner}})) or ""
    shown = [json.dumps(name) for name in list(inner)[:20]] + (["..."] if count > 20 else [])
    assert f"Unwrap 'data': send {', '.join(shown)} directly" in message


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize(
    ("sent", "line"),
    [
        ({"conatct": {"x": 1}}, "Did you mean 'contact'? It is declared and takes an object; 'conatct' is not."),
        (
            {"payload": {"x": 1}},
            HOMELESS,
        ),
        (
            {"payload": {"x": 1, "email": 2}},
            'Unwrap \'payload\': send "email" directly, not inside "payload". Leave out "x": it is not declared.',
        ),
        (
            {"site": 1, "contact": {}, "tags": {}, "payload": {"x": 1}},
            "Remove 'payload': none of its fields is declared.",
        ),
    ],
)
def test_an_object_of_undeclared_fields_may_be_meant_for_a_declared_object(sent: dict[str, object], line: str) -> None:
    site = {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Site"}]}
    properties = {"email": {"type": "string"}, "site": site, "contact": {"type": ["object", "null"]}}
    declared = read_declared({"properties": properties, "$defs": {"Site": {"properties": {"name": {}}}}})
    message = nested_wrapper_message(sent, declared) or ""
    assert message.splitlines()[-2] == line


@pytest.mark.requirement("000-14")
def test_wrappers_beyond_ten_are_counted() -> None:
    message = nested_wrapper_message({f"w{number}": {} for number in range(300)}, CONTACT) or ""
    lines = message.splitlines()
    assert lines[9:11] == [
        "Argument 'w9' is not a declared field and its value is a nested object.",
        "So are 290 more.",
    ]
    assert lines[-2:] == ["Remove 'w9': it is empty.", 'Declared fields: ["email", "first_name"].']
    assert len(lines) == 23


@pytest.mark.requirement("F4")
def test_a_name_is_looked_up_once_however_many_are_declared_and_sent() -> None:
    """Comparisons are counted: a search through ten thousand names for each of ten thousand would be seconds."""

    class Name(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    declared = Declared(tuple(f"f{n}" for n in range(10_000)), declares_nothing_said=False, is_open_to_all=False)
    sent: dict[str, object] = {Name(f"w{number}"): {} for number in range(10_000)}
    Name.compared = 0
    assert len(find_nested_wrappers(sent, declared, frozenset())) == 10_000
    assert Name.compared < 10_000


TEXT = {"type": "string"}
ADDRESS = {"type": "object", "properties": {"name": TEXT, "street": TEXT}}
PERSON = {"properties": {"name": TEXT, "email": TEXT, "address": ADDRESS, "labels": {"type": "object"}}}


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize(
    ("sent", "line"),
    [
        # What is inside belongs to the object whose name was misspelt, above all where the same name was sent as well.
        (
            {"name": "B", "adress": {"name": "H"}},
            "Did you mean 'address'? It is declared and takes an object; 'adress' is not.",
        ),
        ({"adress": {"name": "H"}}, "Did you mean 'address'? It is declared and takes an object; 'adress' is not."),
        ({"adress": {"zip": 1}}, "Did you mean 'address'? It is declared and takes an object; 'adress' is not."),
        ({"label": {"name": "H"}}, "Did you mean 'labels'? It is declared and takes an object; 'label' is not."),
        # The same fields tell as much as the name.
        ({"home": {"street": "s"}}, "Did you mean 'address'? It is declared and takes an object; 'home' is not."),
        (
            {"home": {"name": "H", "street": "s"}},
            "Did you mean 'address'? It is declared and takes an object; 'home' is not.",
        ),
        ({"data": {"name": "H", "email": "e"}}, 'Unwrap \'data\': send "name", "email" directly, not inside "data".'),
        ({"home": {"name": "H"}}, 'Unwrap \'home\': send "name" directly, not inside "home".'),
        # What was sent already is not to be sent again.
        (
            {"name": "B", "data": {"name": "H"}, "address": {}, "labels": {}},
            "Remove 'data': \"name\" was sent already.",
        ),
        (
            {"name": "B", "data": {"name": "H", "email": "e"}, "address": {}},
            'Unwrap \'data\': send "email" directly, not inside "data". "name" was sent already.',
        ),
    ],
)
def test_what_is_inside_goes_where_it_was_meant_to_go(sent: dict[str, object], line: str) -> None:
    message = nested_wrapper_message(sent, read_declared(PERSON)) or ""
    assert message.splitlines()[-2] == line


def test_where_every_object_was_misnamed_the_cause_is_no_wrapper() -> None:
    declared = read_declared(PERSON)
    message = nested_wrapper_message({"name": "B", "adress": {"name": "H"}}, declared) or ""
    assert message.splitlines()[1] == "Likely cause: another name for a declared field."
    message = nested_wrapper_message({"adress": {"name": "H"}}, declared, inside="arguments") or ""
    assert message.splitlines()[1] == 'Likely cause: another name for a declared field — send it inside "arguments".'
    both = nested_wrapper_message({"adress": {"street": "s"}, "data": {"email": "e"}}, declared) or ""
    assert both.splitlines()[2] == "Likely cause: REST-style wrapper — send fields flat at the top level."


def test_names_sent_at_the_place_besides_are_not_sent_again() -> None:
    message = nested_wrapper_message(
        {"data": {"name": "H"}}, read_declared({"properties": {"name": TEXT}}), sent={"name"}
    )
    assert "Remove 'data': \"name\" was sent already." in (message or "")


def test_the_facts_name_what_the_text_names() -> None:
    schema = {"properties": {"names_list": TEXT, "address": ADDRESS}}
    for sent, near in (({"name_list": {"first": "x"}}, ""), ({"adress": {"name": "H"}}, "address")):
        violation = check_unknown(sent, read_declared(schema), InputPolicy())
        assert violation is not None
        assert [fact.nearest for fact in violation.facts] == [near]
        assert ("Did you mean" in violation.message) == bool(near)


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize(
    ("sent", "line"),
    [
        ({"data": {"Name": "x"}}, 'Unwrap \'data\': send "Name" as "name" directly, not inside "data".'),
        (
            {"data": {"nmae": "x", "email": "e"}},
            'Unwrap \'data\': send "email", "nmae" as "name" directly, not inside "data".',
        ),
        ({"data": {"adress": {"zip": 1}}}, 'Unwrap \'data\': send "adress" as "address" directly, not inside "data".'),
        ({"data": {"data": {"name": "x"}}}, "Unwrap 'data' and 'data' in it: send \"name\" directly, not inside them."),
        (
            {"a": {"b": {"c": {"name": "x"}}}},
            "Unwrap 'a' and 'b' in it and 'c' in it: send \"name\" directly, not inside them.",
        ),
        (
            {"data": {"name": "x", "foo": 1}},
            'Unwrap \'data\': send "name" directly, not inside "data". Leave out "foo": it is not declared.',
        ),
        (
            {"data": {"foo": 1, "name": "x", "bar": 1}},
            'Unwrap \'data\': send "name" directly, not inside "data". Leave out "foo", "bar": they are not declared.',
        ),
    ],
)
def test_nothing_in_a_wrapper_is_thrown_away_that_a_declared_field_takes(sent: dict[str, object], line: str) -> None:
    message = nested_wrapper_message(sent, read_declared(PERSON)) or ""
    assert message.splitlines()[-2] == line


@pytest.mark.requirement("F4")
@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.dictionaries(NAMES, JSON, max_size=4), max_size=4), max_size=4))
def test_no_text_advises_to_send_what_would_be_refused(arguments: dict[str, dict[str, object]]) -> None:
    declared = read_declared({"properties": {"a": {}, "b": {"type": "object"}}})
    message = nested_wrapper_message(arguments, declared) or ""
    for line in message.splitlines():
        advised = line.partition(": send ")[2].partition(" directly")[0] if line.startswith("Unwrap") else ""
        names = [json.loads(each.rpartition(" as ")[2]) for each in advised.split(", ") if each]
        assert set(names) <= declared.known - arguments.keys()
