"""The stack of edits: where a module goes, what takes its place, and what differs between two stacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkroom.refusal import Refused
from darkroom.stack import LAYERS, Change, Layer, Module, Stack, changes, stack_from

MODULES = st.builds(
    Module,
    id=st.sampled_from("abcdef"),
    primitive=st.just("exposure"),
    layer=st.sampled_from(LAYERS),
    enabled=st.booleans(),
    parameters=st.fixed_dictionaries({"ev": st.floats(-4, 4)}),
    template=st.none() | st.just("look"),
)


def stacks() -> st.SearchStrategy[Stack]:
    def build(modules: list[Module]) -> Stack:
        stack = Stack("picture")
        for module in modules:
            stack = stack.with_module(module)
        return stack

    return st.lists(MODULES).map(build)


def module(name: str, layer: Layer = "L3", *, primitive: str = "exposure", ev: float = 1.0) -> Module:
    return Module(name, primitive, layer, True, {"ev": ev}, None)


@given(stack=stacks())
def test_layers_are_rendered_in_order_whatever_was_added_when(stack: Stack) -> None:
    places = [LAYERS.index(module.layer) for module in stack.modules]
    assert places == sorted(places)
    assert len({module.id for module in stack.modules}) == len(stack.modules)


@given(stack=stacks())
def test_a_stack_survives_being_stored(stack: Stack) -> None:
    assert stack_from(stack.to_document()) == stack


@given(before=stacks(), after=stacks())
def test_the_changes_lead_from_one_stack_to_the_other(before: Stack, after: Stack) -> None:
    modules = {module.id: module for module in before.modules}
    for change in changes(before, after):
        assert change.before == modules.pop(change.module_id, None)
        if change.after is not None:
            modules[change.module_id] = change.after
    assert modules == {module.id: module for module in after.modules}
    assert changes(after, after) == ()


def test_new_parameters_leave_a_module_where_it_is() -> None:
    stack = Stack("p").with_layer("L2", [module("look", "L2")]).with_module(module("a")).with_module(module("b"))
    changed = stack.with_module(module("a", ev=2.0)).with_module(module("look", ev=3.0))
    assert [(m.id, m.layer, m.parameters["ev"]) for m in changed.modules] == [
        ("look", "L2", 3.0),
        ("a", "L3", 2.0),
        ("b", "L3", 1.0),
    ]
    assert changes(stack, changed) == (
        Change("look", "changed", module("look", "L2"), module("look", "L2", ev=3.0)),
        Change("a", "changed", module("a"), module("a", ev=2.0)),
    )


@pytest.mark.requirement("002-14")
def test_an_id_that_another_primitive_has_is_a_state_error() -> None:
    stack = Stack("p").with_module(module("a", primitive="contrast"))
    with pytest.raises(Refused) as refused:
        stack.with_module(module("a"))
    assert (refused.value.code, refused.value.details) == ("state_error", {"primitive": "contrast"})


@pytest.mark.requirement("002-14")
def test_a_layer_that_needs_a_taken_id_is_a_state_error() -> None:
    with pytest.raises(Refused) as refused:
        Stack("p").with_module(module("l1-levels")).with_layer("L1", [module("l1-levels", "L1")])
    assert (refused.value.code, refused.value.details) == ("state_error", {"module_ids": ["l1-levels"]})


def test_a_layer_is_replaced_as_a_whole_and_no_other_is_touched() -> None:
    stack = Stack("p").with_module(module("mine")).with_layer("L1", [module("x", "L1"), module("y", "L1")])
    assert [m.id for m in stack.with_layer("L1", [module("z", "L1")]).modules] == ["z", "mine"]


@pytest.mark.requirement("002-14")
def test_removing_what_is_not_there_is_not_found() -> None:
    stack = Stack("p").with_module(module("a"))
    assert stack.without_module("a") == Stack("p")
    with pytest.raises(Refused) as refused:
        stack.without_module("b")
    assert refused.value.code == "not_found"
