"""The reference in docs/settings.md is made from the code."""

from pathlib import Path

from handfast.gateway.settings.keys import GLOBAL_KEYS, SERVER_KEYS
from handfast.gateway.settings.reference import render_reference, with_reference

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_document_is_current() -> None:
    document = PAGE.read_text("utf-8")

    assert document == with_reference(document), "run: python -m handfast.gateway.settings.reference docs"


def test_every_setting_is_in_the_reference_with_its_variable() -> None:
    reference = render_reference()

    assert [key.variable for key in GLOBAL_KEYS.values() if f"| `{key.variable}` |" not in reference] == []
    assert [name for name in SERVER_KEYS if f"| `{name}` |" not in reference] == []


def test_every_setting_says_what_it_is_for() -> None:
    assert [key.dotted for key in (*GLOBAL_KEYS.values(), *SERVER_KEYS.values()) if not key.description] == []
