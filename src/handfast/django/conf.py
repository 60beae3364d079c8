"""The settings in `settings.HANDFAST`, read once and refused where they are wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, Literal

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from handfast import __version__
from handfast.core.call.policy import InputErrors, UnknownArguments
from handfast.toolkit.running.piece_form import FEWEST_BYTES, PIECE_BYTES

_MIB: Final = 1024 * 1024
LeanWrites = Literal["large", "always", "never"]
Dispatchers = Literal[False, "resources"] | Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSettings:
    """The settings by the keys of `HANDFAST`, in lower case."""

    name: str = "django"  # the server's name in clients, records and scopes
    version: str = __version__  # of the API, for clients that show it
    instructions: str = ""  # what a client tells its model about the server
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    errors: InputErrors = InputErrors.PROTOCOL
    unknown_arguments: UnknownArguments = UnknownArguments.REJECT_OBJECTS
    dispatchers: Dispatchers = False
    hide_dispatched: bool = False
    lean_writes: LeanWrites = "large"
    piece_bytes: int = PIECE_BYTES
    max_body_bytes: int = 4 * _MIB
    allowed_origins: tuple[str, ...] = ()
    activity: str | None = None  # a folder, "off", or None for the platform's default


Read = Callable[[object], object]


@cache
def read_settings() -> AdapterSettings:
    """The settings of the project. Raises: ImproperlyConfigured."""
    configured = getattr(settings, "HANDFAST", {})
    if not isinstance(configured, Mapping):
        raise ImproperlyConfigured(
            "settings.HANDFAST must be a dict. Write HANDFAST = {'EXCLUDE': ['contacts__destroy']}."
        )
    known = {field.name.upper() for field in fields(AdapterSettings)}
    unknown = [str(key) for key in configured if key not in known]
    if unknown:
        raise ImproperlyConfigured(
            f"HANDFAST has no setting {', '.join(map(repr, unknown))}. There are {', '.join(sorted(known))}."
        )
    return AdapterSettings(**{str(key).lower(): _value(str(key), value) for key, value in configured.items()})


def _value(key: str, value: object) -> Any:  # Any: of the field's type
    reader, must_be = _READERS[key]
    try:
        return reader(value)
    except (TypeError, ValueError):
        raise ImproperlyConfigured(f"HANDFAST[{key!r}] must be {must_be}.") from None


def forget_settings(*, setting: str, **_: object) -> None:
    """Clears the cached settings, which change in tests but not in a running project."""
    if setting == "HANDFAST":
        read_settings.cache_clear()


setting_changed.connect(forget_settings, dispatch_uid="handfast.conf")


# --- what each setting may be ----------------------------------------------------------------------------------------


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _name(value: object) -> str:
    text = _text(value)
    if not text or not all(char.isalnum() or char in "-_" for char in text) or text.endswith("_"):
        raise ValueError
    return text


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise TypeError
    return tuple(_text(item) for item in value)


def _at_least(least: int) -> Read:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError
        return value

    return read


def _one_of(*allowed: str) -> Read:
    def read(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return read


def _dispatchers(value: object) -> Dispatchers:
    if value is False or value is None:
        return False
    if value == "resources":
        return "resources"
    if not isinstance(value, Mapping):
        raise TypeError
    return {_name(name): _texts(patterns) for name, patterns in value.items()}


def _folder(value: object) -> str | None:
    return None if value is None else str(value)


_PATTERNS: Final = "a list of patterns, such as ['contacts__*']"
_READERS: Final[Mapping[str, tuple[Read, str]]] = {
    "NAME": (_name, "a name of letters, digits, '-' and '_'"),
    "VERSION": (_text, "a text"),
    "INSTRUCTIONS": (_text, "a text"),
    "INCLUDE": (_texts, _PATTERNS),
    "EXCLUDE": (_texts, _PATTERNS),
    "ERRORS": (lambda value: InputErrors(str(value)), "'protocol' or 'result'"),
    "UNKNOWN_ARGUMENTS": (
        lambda value: UnknownArguments(str(_one_of("reject_objects", "reject_all")(value))),
        "'reject_objects' or 'reject_all'",
    ),
    "DISPATCHERS": (_dispatchers, "False, 'resources', or a dict of names and patterns: {'crm': ['contacts__*']}"),
    "HIDE_DISPATCHED": (_flag, "True or False"),
    "LEAN_WRITES": (_one_of("large", "always", "never"), "'large', 'always' or 'never'"),
    "PIECE_BYTES": (_at_least(FEWEST_BYTES), f"a number of bytes, {FEWEST_BYTES} or more"),
    "MAX_BODY_BYTES": (_at_least(1024), "a number of bytes, 1024 or more"),
    "ALLOWED_ORIGINS": (_texts, "a list of origins, such as ['https://example.com']"),
    "ACTIVITY": (_folder, "a folder, 'off', or None"),
}
