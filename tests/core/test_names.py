import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.names import fold_name


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("spelled", ["Email", "EMAIL", "e mail", " email ", "email\0", "e\u00a0mail", "\u2028email"])
def test_case_nul_and_blanks_make_no_difference(spelled: str) -> None:
    assert fold_name(spelled) == "email"


@pytest.mark.parametrize("other", ["e-mail", "e_mail", "emails", "\u00e9mail", ""])
def test_everything_else_does(other: str) -> None:
    assert fold_name(other) != "email"


@given(st.text())
def test_no_blank_and_no_nul_is_left(name: str) -> None:
    once = fold_name(name)
    assert "\0" not in once
    assert once == "".join(once.split())
