"""What each error code stands for."""

import pytest

from handfast.core.answers.codes import CODE_OF_DOMAIN, CORE_MEANINGS, DOMAIN_CODES, CodeBook, DeclaredCode, Meaning
from handfast.core.answers.errors import ErrorCode


@pytest.mark.requirement("D8")
@pytest.mark.requirement("002-5")
@pytest.mark.requirement("003-13")
def test_every_code_has_its_domain_code_and_says_whether_to_try_again() -> None:
    assert {code.value: (meaning.domain_code, meaning.is_recoverable) for code, meaning in CORE_MEANINGS.items()} == {
        "invalid_input": ("invalid_argument", True),
        "not_found": ("not_found", True),
        "conflict": ("conflict", True),
        "state_error": ("conflict", True),
        "guardrail_violated": ("guardrail_violated", True),
        "permission_error": ("guardrail_violated", False),
        "not_supported": ("not_supported", False),
        "not_implemented": ("not_supported", False),
        "output_violation": ("handler_failure", False),
        "upstream_error": ("handler_failure", True),
        "unavailable": ("handler_failure", True),
        "timeout": ("handler_failure", True),
        "cancelled": ("handler_failure", False),
        "internal_error": ("handler_failure", False),
    }
    assert set(CORE_MEANINGS) == set(ErrorCode)


def test_every_domain_code_leads_back_to_a_code_that_has_it() -> None:
    assert CODE_OF_DOMAIN.keys() == DOMAIN_CODES
    assert all(CORE_MEANINGS[code].domain_code == domain for domain, code in CODE_OF_DOMAIN.items())


@pytest.mark.requirement("D8")
def test_a_server_declares_codes_of_its_own_and_no_others_are_known() -> None:
    book = CodeBook(["darktable_error", DeclaredCode(name="quota", is_recoverable=False, domain_code="conflict")])
    assert book.meaning("darktable_error") == Meaning("handler_failure", True)
    assert book.meaning("quota") == Meaning("conflict", False)
    assert "quota" in book
    assert "elsewhere" not in book
    with pytest.raises(KeyError):
        book.meaning("elsewhere")


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("not_found", "The code 'not_found' is there already; declare only codes of the server's own."),
        ("Not-Good", "The code 'Not-Good' is not a lower_case name; rename it."),
        (DeclaredCode(name="x", domain_code="teapot"), "The code 'x' has no known domain code; use one of"),
    ],
)
def test_a_code_that_cannot_be_declared_is_refused(declared: DeclaredCode | str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.split("(")[0]):
        CodeBook([declared])
    with pytest.raises(ValueError, match="already"):
        CodeBook(["twice", "twice"])
