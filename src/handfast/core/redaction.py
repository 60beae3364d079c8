"""The only place that may turn somebody's value into something that can be shown or stored."""

import re
from collections.abc import Iterable

_MAX_NAME = 64  # a declared field is shorter; what is longer is a value in disguise
_MAX_NAMES = 20

# Names that hold secrets, wherever they stand in the name: `api_key`, `apiKey`, `x-auth-token`, `DB_PASSWORD`.
_SECRET_NAME = re.compile(
    r"passw|passphrase|secret|token|credential|authorization|cookie|api.?key|private.?key|session.?id", re.I
)
# Values that are secrets whatever they are called: bearer headers, JWTs, well-known key prefixes, PEM blocks.
_SECRET_VALUE = re.compile(
    r"(?:bearer\s+\S+|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\b(?:sk|pk|ghp|gho|ghs|xox[abp]|AKIA|AIza)[-_A-Za-z0-9]{12,}"
    r"|-----BEGIN [A-Z ]+-----|\b[0-9a-fA-F]{32,}\b)",
    re.I,
)
_MASK = "[redacted]"


def scrub_name(name: str) -> str:
    """A key's name that is safe to show: no control characters, no surrogates, no more than 64 characters."""
    if len(name) <= _MAX_NAME and name.isprintable():
        return name  # nearly always, and ten times cheaper than looking at each character here
    printable = "".join(c if c.isprintable() else "?" for c in name[: _MAX_NAME + 1])
    if len(printable) > _MAX_NAME:
        return printable[:_MAX_NAME] + "…"
    return printable


def scrub_names(names: Iterable[str]) -> list[str]:
    """The first twenty names, scrubbed; a literal `...` stands for the rest."""
    shown: list[str] = []
    for name in names:
        if len(shown) == _MAX_NAMES:
            return [*shown, "..."]
        shown.append(scrub_name(name))
    return shown


def redact_value(value: object, *, depth: int = 8) -> object:
    """A copy of a JSON value with secrets masked, by the name they stand under and by their look."""
    if depth == 0:
        return _MASK
    if isinstance(value, dict):
        return {
            scrub_name(str(key)): _MASK if _SECRET_NAME.search(str(key)) else redact_value(inner, depth=depth - 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [redact_value(inner, depth=depth - 1) for inner in value]
    if isinstance(value, str):
        return _SECRET_VALUE.sub(_MASK, value)
    return value


def scrub_text(text: str) -> str:
    return _SECRET_VALUE.sub(_MASK, text)
