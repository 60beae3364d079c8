"""${NAME} in server entries."""

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
        ("${EMPTY}", ""),
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


@pytest.mark.parametrize("text", ["${", "${}", "${A", "${input:token}", "${A-b}", "${1}"])
def test_an_unknown_form_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(UnsetVariable) as refused:
        expand(text, ENVIRON)

    assert str(refused.value) == (
        'holds a "${" that is neither ${NAME} nor ${NAME:-default}; write "$${" for a plain one'
    )


@given(st.text(st.sampled_from("${}A:-x") | st.characters(), max_size=30))
def test_any_text_comes_through_when_escaped(text: str) -> None:
    assert expand(escape(text), ENVIRON) == text
