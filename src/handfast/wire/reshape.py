"""Members of a message set, added or taken out by position, every other byte as it was sent."""

from collections.abc import Iterable, Mapping

import msgspec

from handfast.wire.scan import Member, scan_object

Path = tuple[str, ...]


def put(text: bytes, values: Mapping[Path, bytes]) -> bytes:
    """The object with raw JSON at these paths: replaced where there is something, else added, objects on the way too.

    Raises: NotJson.
    """
    members = {member.key: member for member in scan_object(text, allows_constants=True)}
    pieces: list[bytes] = []
    position = 0
    below = _by_first(values)
    for key, member in members.items():
        if key in below:
            value = _value(text[member.value_start : member.value_end], below.pop(key))
            pieces += (text[position : member.value_start], value)
            position = member.value_end
    end = _end_of_members(text, list(members.values()))
    pieces.append(text[position:end])
    added = [msgspec.json.encode(key) + b":" + _value(b"{}", inner) for key, inner in below.items()]
    if added:
        pieces.append((b"," if members else b"") + b",".join(added))
    pieces.append(text[end:])
    return b"".join(pieces)


def drop(text: bytes, paths: Iterable[Path]) -> bytes:
    """The object without the members at these paths, where there are any. Raises: NotJson."""
    below = _by_first(dict.fromkeys(paths, b""))
    kept: list[bytes] = []
    is_changed = False
    members = scan_object(text, allows_constants=True)
    for member in members:
        inner = below.get(member.key)
        whole = text[member.key_start : member.value_end]
        if inner is None:
            kept.append(whole)
            continue
        value = text[member.value_start : member.value_end]
        is_changed = True
        if () in inner:
            continue
        if value.startswith(b"{"):
            whole = text[member.key_start : member.value_start] + drop(value, inner)
        kept.append(whole)
    if not is_changed:
        return text
    return text[: members[0].key_start] + b",".join(kept) + text[_end_of_members(text, members) :]


def _value(old: bytes, inner: Mapping[Path, bytes]) -> bytes:
    if () in inner:
        return inner[()]
    return put(old if old.startswith(b"{") else b"{}", inner)


def _by_first(values: Mapping[Path, bytes]) -> dict[str, dict[Path, bytes]]:
    found: dict[str, dict[Path, bytes]] = {}
    for path, value in values.items():
        found.setdefault(path[0], {})[path[1:]] = value
    return found


def _end_of_members(text: bytes, members: list[Member]) -> int:
    return members[-1].value_end if members else text.index(b"{") + 1
