"""Modes and postures: their defaults, and the most specific level winning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.policy import (
    INPUT_KEYS,
    OUTPUT_KEYS,
    InputErrors,
    InputPolicy,
    Mode,
    OutputPolicy,
    Overrides,
    Posture,
    ToolPolicy,
    UnknownArguments,
    resolve,
)

LEVELS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(Mode),
        "max_bytes": st.integers(1, 100),
        "missing_structured_content": st.sampled_from(Posture),
    },
)


@pytest.mark.requirement("D2")
@pytest.mark.requirement("004-4")
@pytest.mark.requirement("004-8")
@pytest.mark.requirement("D13")
@pytest.mark.requirement("D14")
def test_the_defaults_observe_first() -> None:
    assert ToolPolicy() == ToolPolicy(
        InputPolicy(
            mode=Mode.WARN,
            unknown_arguments=UnknownArguments.REJECT_OBJECTS,
            ignore=frozenset(),
            errors=InputErrors.RESULT,
            lenient_scalars=False,
            uncompilable_schema=None,
        ),
        OutputPolicy(
            mode=Mode.WARN,
            max_bytes=5 * 1024 * 1024,
            max_depth=64,
            missing_structured_content=Posture.ALLOW,
            uncompilable_schema=None,
            guards_without_schema=False,
        ),
    )


@pytest.mark.requirement("D14")
@pytest.mark.parametrize("policy", [InputPolicy, OutputPolicy])
def test_what_cannot_be_judged_is_objected_to_in_strict_unless_a_posture_says_otherwise(
    policy: type[InputPolicy | OutputPolicy],
) -> None:
    found = {
        (mode, posture): policy(mode=mode, uncompilable_schema=posture).objects_to_unjudged
        for mode in (Mode.WARN, Mode.STRICT)
        for posture in (None, Posture.ALLOW, Posture.BLOCK)
    }
    assert [key for key, objects in found.items() if objects] == [
        (Mode.WARN, Posture.BLOCK),
        (Mode.STRICT, None),
        (Mode.STRICT, Posture.BLOCK),
    ]


@given(st.lists(st.none() | LEVELS, max_size=4))
def test_each_key_comes_from_the_most_specific_level_that_sets_it(levels: list[dict[str, object] | None]) -> None:
    resolved = resolve(ToolPolicy(), *(None if level is None else Overrides({}, level) for level in levels))
    for key in OUTPUT_KEYS:
        given_values = [level[key] for level in levels if level is not None and key in level]
        expected = given_values[-1] if given_values else getattr(OutputPolicy(), key)
        assert getattr(resolved.output, key) == expected
    assert resolved.input == InputPolicy()


def test_overrides_of_one_side_leave_the_other_alone() -> None:
    resolved = resolve(ToolPolicy(), Overrides({"mode": Mode.STRICT}, {}))
    assert resolved == ToolPolicy(InputPolicy(mode=Mode.STRICT), OutputPolicy())
    assert "mode" in INPUT_KEYS & OUTPUT_KEYS


@pytest.mark.parametrize(
    ("on_arguments", "on_results", "judges"),
    [
        (Mode.OFF, Mode.OFF, False),
        (Mode.WARN, Mode.OFF, True),
        (Mode.OFF, Mode.WARN, True),
        (Mode.STRICT, Mode.STRICT, True),
    ],
)
def test_a_tool_is_judged_unless_both_sides_are_off(on_arguments: Mode, on_results: Mode, judges: bool) -> None:
    assert ToolPolicy(InputPolicy(mode=on_arguments), OutputPolicy(mode=on_results)).judges is judges
