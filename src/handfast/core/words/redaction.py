"""Redaction: the only place that may turn a value of a client or server into text that can be shown or stored."""

import re
from collections.abc import Iterable
from itertools import islice

from handfast.core.words.secrets_in_text import MASK, is_secret_name, mask_in_urls, mask_known, mask_secrets

__all__ = ["is_secret_name", "redact_value", "scrub_name", "scrub_names", "scrub_sentence", "scrub_text"]

_MAX_NAME = 64  # declared fields are shorter; a longer name may be a value
_MAX_READ_NAME = 4 * _MAX_NAME  # the part that is shown ends long before this, so a secret in it is read whole
_MAX_NAMES = 20
_MAX_TEXT = 500
_MAX_READ = 4 * _MAX_TEXT  # the rest of a longer text is not read
_MAX_VALUE = 8192  # of a body: twice as much as is kept
_ENTRY = 8  # counted for each value besides its text
_KNOWN_NAMES = 4096  # names whose scrubbed form is remembered: those of hundreds of tools, under 1 MB


class _ShownNames(dict[str, str]):
    """A cache of scrubbed names: a call mostly repeats the names of earlier calls, and then costs a lookup."""

    def __missing__(self, name: str) -> str:
        shown = _scrub(name)
        if len(name) <= _MAX_NAME:
            if len(self) >= _KNOWN_NAMES:
                self.clear()  # a caller invents names; names in use come back within a call
            self[name] = shown
        return shown


def _scrub(name: str) -> str:
    read = name[:_MAX_READ_NAME]
    printable = read if read.isprintable() else "".join(filter(str.isprintable, read))
    masked = mask_secrets(printable)
    if masked == printable:  # secrets are searched without unprintable characters; else ? shows their places
        masked = "".join(char if char.isprintable() else "?" for char in read)
    return masked if len(masked) <= _MAX_NAME else masked[:_MAX_NAME] + "…"


_shown = _ShownNames()
scrub_name = _shown.__getitem__
"""A key's name that is safe to show: without secrets and control characters, at most 64 characters."""


def scrub_names(names: Iterable[str]) -> list[str]:
    """The first twenty names, scrubbed; a literal `...` stands for the rest."""
    shown = list(map(scrub_name, islice(names, _MAX_NAMES + 1)))
    if len(shown) > _MAX_NAMES:
        shown[_MAX_NAMES] = "..."
    return shown


def scrub_sentence(text: str) -> str:
    """One of our own sentences that quotes names and the like: known kinds of secrets are masked, the rest stays."""
    return mask_in_urls(mask_known(text))


def scrub_text(text: str, *, most: int = _MAX_TEXT) -> str:
    """Foreign text, such as an exception's, that is safe to log: secrets masked, one printable line, bounded."""
    masked = mask_secrets(_cut(text, _MAX_READ))
    shown = "".join(char if char.isprintable() else "?" for char in " ".join(masked.split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def redact_value(value: object) -> object:
    """A copy of a JSON value, cut if it is large, with secrets masked by their names and their form."""
    return _redact(value, depth=8, room=[_MAX_VALUE])


def _redact(value: object, *, depth: int, room: list[int]) -> object:
    """`room` holds how much may still be read: only a body's beginning is kept, and masking takes time."""
    if depth == 0 or room[0] <= 0:
        return MASK
    room[0] -= _ENTRY
    if isinstance(value, dict):
        return _redact_members(value, depth=depth, room=room)
    if isinstance(value, list):
        return [_redact(inner, depth=depth - 1, room=room) for inner in value if room[0] > 0]
    if isinstance(value, str):
        read = _cut(value, room[0])
        room[0] -= len(read)
        return mask_secrets(read)
    return value


def _redact_members(members: dict[object, object], *, depth: int, room: list[int]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, inner in members.items():
        name = str(key)
        room[0] -= _ENTRY + len(name)
        if room[0] <= 0:
            break
        found[scrub_name(name)] = MASK if is_secret_name(name) else _redact(inner, depth=depth - 1, room=room)
    return found


_LAST_WORD = re.compile(r"\S*\Z")


def _cut(text: str, most: int) -> str:
    """Cuts a text and drops its last word, which may be part of a secret and not look like one."""
    return text if len(text) <= most else _LAST_WORD.sub("", text[:most]).rstrip() + "…"
