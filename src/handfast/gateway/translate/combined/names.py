"""The public name of a server's tool or prompt at the combined endpoint: `server__name`. Pure.

A name depends on its server and on itself, never on what else is there, so it stays the same whatever servers come or
go. One that does not fit the protocol's rules (1 to 128 of A-Z, a-z, 0-9, dot, dash, underscore) becomes a short form:
what fits of it, `--`, and a digest of the whole.
"""

import re
from functools import lru_cache
from hashlib import sha256
from typing import Final

SEPARATOR: Final = "__"
_LONGEST: Final = 128
_LONGEST_SERVER: Final = 64  # as in the settings; half is left for the name
_DIGITS: Final = 16  # 64 bits: the names of one server do not collide by chance
_LEGAL: Final = re.compile(r"[A-Za-z0-9_.-]+")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_.-]")
_UNDERSCORES: Final = re.compile(r"__+")
_SHORT_FORM: Final = re.compile(rf"[A-Za-z0-9_.-]*--[0-9a-f]{{{_DIGITS}}}")


@lru_cache(maxsize=1024)
def public_server(server: str) -> str:
    """The server's part of its public names: its own name wherever the settings would accept that."""
    is_separable = SEPARATOR not in server and not server.endswith("_")
    if is_separable and _fits(server, _LONGEST_SERVER):
        return server
    # Without `__`: the first one of a public name must be where the tool's name begins.
    return _short_form(server, _UNDERSCORES.sub("_", _ILLEGAL.sub("-", server)), _LONGEST_SERVER)


@lru_cache(maxsize=8192)
def public_name(server: str, own: str) -> str:
    """The name of this server's tool or prompt among those of all servers."""
    prefix = public_server(server) + SEPARATOR
    room = _LONGEST - len(prefix)
    return prefix + (own if _fits(own, room) else _short_form(own, _ILLEGAL.sub("-", own), room))


def split_name(public: str) -> tuple[str, str] | None:
    """The server's part and the name's part; None where there are not both."""
    server, separator, name = public.partition(SEPARATOR)
    return (server, name) if server and separator and name else None


def is_short_form(part: str) -> bool:
    """Whether a part stands for another name, which only a list can tell."""
    return _SHORT_FORM.fullmatch(part) is not None


def _fits(text: str, room: int) -> bool:
    # A name that looks like a short form gets one of its own, so that no name equals another's short form.
    return len(text) <= room and _LEGAL.fullmatch(text) is not None and not is_short_form(text)


def _short_form(text: str, cleaned: str, room: int) -> str:
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{cleaned[: room - _DIGITS - 2]}--{digest}"
