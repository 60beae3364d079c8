"""Reading what a server wrote where a surprise is no reason to stop: what is no clear object has no members. Pure."""

from handfast.wire.message import AmbiguousKeys, Members, read_level
from handfast.wire.scan import NotJson


def level_of(text: bytes | None) -> Members:
    """The members of an object; none where it is anything else, or could be read in two ways."""
    if text is None or not text.startswith(b"{"):
        return {}
    try:
        return read_level(text)
    except (AmbiguousKeys, NotJson):
        return {}
