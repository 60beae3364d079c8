"""An actor is whatever has an id or a name."""

from types import SimpleNamespace
from uuid import UUID

import pytest

from handfast.toolkit.writing.actor import Actor, identifier_of, is_known, label_of, name_of

KNOWN = UUID("0b6f3c1e-8f0a-4c5e-9d43-1f2a7b8c9d0e")


@pytest.mark.requirement("003-9")
@pytest.mark.parametrize(
    ("actor", "identifier", "name"),
    [
        (Actor(id="u1", name="Ada"), "u1", "Ada"),
        (Actor(name=" Ada "), "", "Ada"),
        (SimpleNamespace(id=KNOWN), str(KNOWN), ""),
        (SimpleNamespace(id=7, name=None), "7", ""),
        (Actor(), "", ""),
        (Actor(id="  ", name="\u200b\t"), "", ""),
        (SimpleNamespace(id=True, name=object()), "", ""),
        (None, "", ""),
        ("ada", "", ""),
    ],
)
def test_an_id_or_a_name_that_can_be_read_identifies(actor: object, identifier: str, name: str) -> None:
    assert (identifier_of(actor), name_of(actor)) == (identifier, name)
    assert label_of(actor) == (identifier or name)
    assert is_known(actor) is bool(identifier or name)
