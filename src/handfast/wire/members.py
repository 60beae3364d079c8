"""Single members of a level of a message, read where they are what they should be."""

import msgspec

from handfast.wire.message import Members


def member(members: Members | None, name: str) -> bytes | None:
    """A member's raw value; None where it is absent or null."""
    found = None if members is None else members.get(name)
    return None if found is None or bytes(found) == b"null" else bytes(found)


def text_member(members: Members | None, name: str) -> str | None:
    """A member that is a string; None where it is anything else."""
    try:
        return msgspec.json.decode(member(members, name) or b"null", type=str | None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
