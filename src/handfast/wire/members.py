"""Members of one level of a message; a member that is absent, of another type or ambiguous counts as missing. Pure."""

import msgspec

from handfast.wire.message import AmbiguousKeys, Members, read_level
from handfast.wire.scan import NotJson

_decode_text = msgspec.json.Decoder(str).decode


def member(members: Members | None, name: str) -> bytes | None:
    """A member's raw value; None if it is absent or null."""
    found = None if members is None else members.get(name)
    return None if found is None or bytes(found) == b"null" else bytes(found)


def text_member(members: Members | None, name: str) -> str | None:
    """A member that is a string; None if it is anything else."""
    found = None if members is None else members.get(name)
    if found is None:
        return None
    try:
        return _decode_text(found)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def level_of(text: bytes | None) -> Members:
    """The members of an object; empty if the text is not an object or could be read in two ways."""
    if text is None or not text.startswith(b"{"):
        return {}
    try:
        return read_level(text)
    except (AmbiguousKeys, NotJson):
        return {}
