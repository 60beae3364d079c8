"""The name of a caller in records: no two of different issuers are the same."""

from handfast.access.tokens import is_name
from handfast.core.access.identity import Identity


def test_a_subject_of_an_issuer_is_never_one_of_this_gateway() -> None:
    own, other = Identity(subject="alice"), Identity(subject="alice", issuer="corp")
    assert (own.actor, other.actor) == ("alice", "corp:alice")
    assert not is_name(other.actor)  # so that no token of this gateway can be made for it


def test_each_token_has_an_identity_of_its_own() -> None:
    assert Identity(subject="alice") != Identity(subject="alice")
