"""Finds and masks secrets in text: by the name before them, by their form, or by their place in a URL."""

import base64
import binascii
import re
import unicodedata
from operator import ne
from typing import Final

MASK: Final = "[redacted]"

# --- names -----------------------------------------------------------------------------------------------------------

# Anywhere in a name: `DB_PASSWORD`, `clientSecret`, `x-auth-token`, `apiKey`, `access key id`.
_STEMS: Final = re.compile(
    r"passw|passphrase|passcode|secret|token|credential|authori[sz]ation|cookie|bearer"
    r"|(?:api|access|account|app|auth|client|encryption|license|master|private|service|shared|signing|ssh).?key"
    r"|session.?id|(?:backup|mfa|one.?time|recovery|security|verification).?code|(?:recovery|seed).?phrase",
    re.I,
)
_STRONG: Final = frozenset(("pwd", "jwt"))  # the same, but only as whole words, as three letters occur in many words
# Only as the last word, because `pinned`, `pin_message` and `session_count` are not secrets.
_WEAK: Final = re.compile(r"auth|creds?|csrf|cv[cv]|[ht]?otp|pass|pin|sess(?:ion|id)|sid|ssn|xsrf")
# Words that may follow without changing that: `pin_code`, `otpValue`, `session-key`, `cvv2`.
_NEUTRAL: Final = re.compile(r"again|code|confirm|data|hash|header|id|key|new|no|num|number|old|string|text|value")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


# Characters of a name. Normalizing takes time that grows with the square of the length, and real names are shorter.
_LONGEST_NAME: Final = 1000


def is_secret_name(name: str) -> bool:
    """Whether the value under this name is likely to be a secret."""
    if len(name) > _LONGEST_NAME:
        return True  # too long for a real name
    if not (name.isascii() and name.isprintable()):
        # As other readers see it: wide letters become letters, and invisible characters are removed.
        name = "".join(filter(str.isprintable, unicodedata.normalize("NFKC", name)))
    if _STEMS.search(name):
        return True
    words = [word.lower() for word in _WORDS.findall(name)]
    if not _STRONG.isdisjoint(words):
        return True
    while len(words) > 1 and _NEUTRAL.fullmatch(words[-1]):
        words.pop()
    return bool(words) and _WEAK.fullmatch(words[-1]) is not None


# --- form ------------------------------------------------------------------------------------------------------------

# Secrets with a known form. Each prefix needs a long rest, so that ordinary words do not match.
_KNOWN: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*-----(?:.*?-----END [A-Z0-9 ]*-----|.*)"
    r"|(?<![A-Za-z0-9])(?:"
    r"eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)+"
    r"|(?i:sk|pk|rk)-[\w-]{12,}|(?:sk|pk|rk|whsec)_(?:live_|test_|prod_)?(?=\w{0,64}\d)[A-Za-z0-9]{12}[\w-]*"
    r"|(?:sk|pk|rk)_(?:live|test|prod)_\w{8,}"
    r"|gh[oprsu]_[A-Za-z0-9]{12}[\w-]*|github_pat_\w{12,}|gl(?:agent|cbt|dt|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{12,}"
    r"|xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-[\w-]{10,}"
    r"|(?:AKIA|ASIA|AGPA|AROA|AIDA|ANPA)[A-Z0-9]{12,}|AIza[\w-]{16,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{12,}"
    r"|hf_[A-Za-z0-9]{16}[\w-]*|hfa_[\w-]{12,}|npm_[A-Za-z0-9]{16,}|pypi-AgE[\w-]{12,}|SG\.[\w-]{12,}\.[\w-]{12,}"
    r"|(?:dop|doo|dor)_v1_[0-9a-f]{16,}|shp[a-z]{2}_[0-9a-fA-F]{16,}|sq0[a-z]{3}-[\w-]{16,}|hv[bs]\.[\w-]{16,}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{16,}|(?:gsk|lin_api|dckr_pat|figd|r8)_[A-Za-z0-9]{12}[\w-]*"
    r"|(?:xai|nvapi|pplx|tvly)-[\w-]{16,}|\d{8,10}:[\w-]{35}(?![\w-])"
    r"|hooks\.slack\.com/services/\S+"
    r")",
    re.S,
)
_LEAST: Final = 14  # length of the shortest such secret
_IN_HEADER: Final = re.compile(r"\bbearer\s+\S+", re.I)
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{_LEAST},}}={{0,2}}")
_LEAST_RANDOM: Final = 32  # characters; shorter ones look like everyday names and ids
_SURELY_RANDOM: Final = 40
_KINDS: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/_-=", "a" * 26 + "A" * 26 + "0" * 10 + "-" * 5
)


def _is_random(run: str) -> bool:
    """Whether cases and digits change so often that the text is random: in names they change between words."""
    kinds = run.translate(_KINDS)
    least_digits = 1 if len(run) >= _SURELY_RANDOM else 3  # `getUserByIdV2AndReturnHTML5Page` is a name
    if len(run) < _LEAST_RANDOM or "a" not in kinds or "A" not in kinds or kinds.count("0") < least_digits:
        return False
    changes: int = sum(map(ne, kinds, kinds[1:]))
    return changes * 5 >= len(run) * 2


def _hides_secret(run: str) -> bool:
    """Whether the run is base64 of a text that holds a secret by its form or under a secret's name."""
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    if not text.isprintable():
        return False
    return _KNOWN.search(text) is not None or _IN_HEADER.search(text) is not None or _mask_pairs(text) != text


def _mask_run(found: re.Match[str]) -> str:
    run = found[0]
    return MASK if _is_random(run) or _hides_secret(run) else run


# --- where it stands -------------------------------------------------------------------------------------------------

# A URL keeps its scheme, host and path. User and parameters may be secrets.
_ADDRESS: Final = re.compile(
    r"(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9+.-]{1,20}://)"
    r"((?:[^\s/:@\"'<>]{0,256}:[^\s\"'<>]{1,256}|[^\s/?#\"'<>]{1,512})@)?"
    r"([^\s?#\"'<>]*)([?#][^\s\"'<>]+)?"
)
# A name before its value: `name=`, `"name": `, `name => `, `b'name', `, `--name `, `<name>`.
_PAIR: Final = re.compile(
    r"(?<![\w.-])(?:(?:--?)([\w-]++)\s+(?=[^\s-])|<([\w.:-]++)>(?=[^<]*</)|"
    r"((?:\w++ )?[\w.-]++)(?:\\*[\"']\s*(?:=>|[=:,])\s*|\s*(?:=>|[=:])\s*))"
)
_VALUE: Final = re.compile(
    r"\\+[\"'][^\"']*(?:[\"']|\Z)"
    r"|b?\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|b?'(?:[^'\\]|\\.)*(?:'|\\?\Z)"
    r"|[\[{]\s*\\*[\"'].*"  # an object or a list; its end is not searched
    r"|(?:basic|bearer|digest|negotiate|token)\s+\S+|\S+",
    re.I | re.S,
)
_ELEMENT: Final = re.compile(r"[^<]*")
_COOKIES: Final = re.compile(r"\S+(?:(?<=;)\s+[^\s;=]+=\S*)*")
_BASIC: Final = re.compile(r"\bbasic\s+([A-Za-z0-9+/]{6,}={0,2})", re.I)


def _mask_basic(found: re.Match[str]) -> str:
    try:
        return MASK if b":" in base64.b64decode(found[1] + "=" * (-len(found[1]) % 4)) else found[0]
    except binascii.Error:
        return found[0]


def _mask_address(found: re.Match[str]) -> str:
    scheme, user, place, query = found.groups()
    return f"{scheme}{f'{MASK}@' if user else ''}{place}{f'{query[0]}{MASK}' if query else ''}"


def _mask_pairs(text: str) -> str:
    parts: list[str] = []
    at = 0
    while (pair := _PAIR.search(text, at)) is not None:
        flag, element, name = pair.groups()
        if not is_secret_name(flag or element or name):
            parts.append(text[at : pair.end()])
            at = pair.end()
            continue
        form = _ELEMENT if element else _COOKIES if "cookie" in (name or "").lower() else _VALUE
        value = form.match(text, pair.end())
        parts += text[at : pair.end()], MASK if value is not None and value[0] else ""
        at = pair.end() if value is None else value.end()
    return "".join(parts) + text[at:]


# --- all of it -------------------------------------------------------------------------------------------------------


def mask_known(text: str) -> str:
    """Masks secrets with a known form."""
    if max(map(len, text.split()), default=0) < _LEAST and "-----BEGIN" not in text:
        return text  # true of most sentences, and a tenth of the cost
    return _KNOWN.sub(MASK, text)


def mask_in_urls(text: str) -> str:
    """Masks user, query and fragment of the URLs in a text."""
    return _ADDRESS.sub(_mask_address, text) if "://" in text else text


def mask_secrets(text: str) -> str:
    """Masks everything that is likely to be a secret."""
    if len(text) < _LEAST and text.isidentifier():
        return text  # true of most names
    masked = mask_in_urls(_mask_pairs(mask_known(text)))
    masked = _IN_HEADER.sub(MASK, _BASIC.sub(_mask_basic, masked))
    return _RUN.sub(_mask_run, _HEX.sub(MASK, masked))
