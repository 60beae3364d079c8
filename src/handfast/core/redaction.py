"""The only place that may turn somebody's value into something that can be shown or stored."""

import re
from collections.abc import Iterable

_MAX_NAME = 64  # a declared field is shorter; what is longer is a value in disguise
_MAX_NAMES = 20

# Names that hold secrets, wherever they stand in the name: `api_key`, `apiKey`, `x-auth-token`, `DB_PASSWORD`.
_TELLING_NAMES = r"passw|passphrase|secret|token|credential|authorization|cookie|api.?key|private.?key|session.?id"
_SECRET_NAME = re.compile(_TELLING_NAMES, re.I)
# Values that are secrets whatever they are called: bearer headers, JWTs, well-known key prefixes, PEM blocks.
_SECRET_VALUE = re.compile(
    r"(?:bearer\s+\S+|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\b(?:sk|pk|ghp|gho|ghs|xox[abp]|AKIA|AIza|hfa_|hf_)[-_A-Za-z0-9]{12,}"
    r"|-----BEGIN [A-Z ]+-----|\b[0-9a-fA-F]{32,}\b)",
    re.I,
)
# In free text: what follows such a name, as in `password=…`, `"api_key": "…"`, `Authorization: Basic …`.
_SECRET_PAIR = re.compile(
    rf"((?:{_TELLING_NAMES})[\w.-]{{0,64}}\\?[\"']?\s*(?:=>|=|:)\s*)"
    r"(?:\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|(?:basic|bearer|digest|token)\s+\S+|\S+)",
    re.I | re.S,
)
_IN_ADDRESS = re.compile(r"(\w://[^\s/:@]{0,256}:)[^\s@]{1,256}@")  # scheme://user:password@host
_MASK = "[redacted]"
_MAX_TEXT = 500
_MAX_READ = 4 * _MAX_TEXT  # of a longer text the rest is not even looked at


def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is likely to be a secret."""
    return _SECRET_NAME.search(name) is not None


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
        shown.append(name if len(name) <= _MAX_NAME and name.isprintable() else scrub_name(name))
    return shown


def scrub_text(text: str, *, most: int = _MAX_TEXT) -> str:
    """Free text, such as an exception's, that is safe to log: secrets masked, one printable line, of bounded length."""
    read = text[:_MAX_READ]
    if len(read) < len(text):
        # The end may have cut a secret so that it no longer looks like one.
        read = read[: max(read.rfind(" "), 0)] + "…"
    masked = _SECRET_VALUE.sub(_MASK, _IN_ADDRESS.sub(rf"\1{_MASK}@", _SECRET_PAIR.sub(rf"\1{_MASK}", read)))
    shown = "".join(char if char.isprintable() else "?" for char in " ".join(masked.split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def redact_value(value: object, *, depth: int = 8) -> object:
    """A copy of a JSON value with secrets masked, by the name they stand under and by their look."""
    if depth == 0:
        return _MASK
    if isinstance(value, dict):
        return {
            scrub_name(str(key)): _MASK if is_secret_name(str(key)) else redact_value(inner, depth=depth - 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [redact_value(inner, depth=depth - 1) for inner in value]
    if isinstance(value, str):
        return _SECRET_VALUE.sub(_MASK, value)
    return value
