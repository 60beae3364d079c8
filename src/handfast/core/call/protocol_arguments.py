"""Protocol arguments (help, mode, paging, filters), taken out before dispatch unless the tool declares them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from handfast.core.call import rules
from handfast.core.call.field_lists import declared_line
from handfast.core.call.policy import Violation
from handfast.core.schema.declared import Declared
from handfast.core.words.redaction import scrub_names

HELP: Final = "help"
CONTINUATION_TOKEN: Final = "continuation_token"  # noqa: S105 - the name of an argument
PROTOCOL_ARGUMENTS: Final = frozenset(
    (HELP, CONTINUATION_TOKEN, "mode", "page", "page_size", "filter_keys", "filters"),
)
FULL: Final = "full"
_MODES: Final = (FULL, "pieces")

DEFAULT_PAGE_SIZE: Final = 50
MOST_PAGE_SIZE: Final = 500  # the same limit as for a tool's own pages

_MOST_PAGE: Final = 2**53  # JSON readers round larger numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolArguments:
    """Whether a caller asks for help, and which part of the result it asks for."""

    help: bool = False
    continuation_token: str | None = None
    mode: str | None = None
    page: int | None = None
    page_size: int | None = None
    filter_keys: tuple[str, ...] | None = None
    filters: Mapping[str, object] | None = None

    @property
    def about_result(self) -> tuple[str, ...]:
        """The names of the given arguments that apply only to a result in pieces."""
        names = (CONTINUATION_TOKEN, "mode", *_NARROWING)
        return tuple(name for name in names if getattr(self, name) is not None)

    @property
    def narrowing(self) -> tuple[str, ...]:
        """The names of the given arguments that select among the items of a list."""
        return tuple(name for name in _NARROWING if getattr(self, name) is not None)


_NARROWING: Final = ("page", "page_size", "filter_keys", "filters")


def take_out(arguments: Mapping[str, object], declared: Declared) -> tuple[dict[str, object], dict[str, object]]:
    """Splits tool arguments from protocol arguments. Keys that a tool declares or accepts as additional are its own."""
    # A schema without properties is not open by that alone: it needs additionalProperties or a pattern.
    said = replace(declared, declares_nothing_said=False)
    rest: dict[str, object] = {}
    taken: dict[str, object] = {}
    for key, value in arguments.items():
        is_own = key not in PROTOCOL_ARGUMENTS or key in said.names or said.is_open(key)
        (rest if is_own else taken)[key] = value
    return rest, taken


def read_protocol(taken: Mapping[str, object]) -> ProtocolArguments | Violation:
    """Parses the protocol arguments; null counts as absent."""
    given = {key: value for key, value in taken.items() if value is not None}
    for key, value in given.items():
        is_right, must_be = _KINDS[key]
        if not is_right(value):
            return Violation(
                rules.ARGUMENTS_PROTOCOL, f'"{key}" must be {must_be}. Send it so, or leave it out, and call again.'
            )
    keys = given.get("filter_keys")
    return ProtocolArguments(
        help=given.get(HELP) is True,
        continuation_token=_text(given.get(CONTINUATION_TOKEN)),
        mode=_text(given.get("mode")),
        page=_number(given.get("page")),
        page_size=_number(given.get("page_size")),
        filter_keys=tuple(map(str, keys)) if isinstance(keys, list) else None,
        filters=filters if isinstance(filters := given.get("filters"), dict) else None,
    )


def means_nothing(names: tuple[str, ...], why: str, declared: Declared) -> Violation:
    """The violation for protocol arguments without effect: they are refused, never silently dropped."""
    shown = ", ".join(f"'{name}'" for name in names)
    what = f"Argument {shown} cannot be used here" if len(names) == 1 else f"Arguments {shown} cannot be used here"
    remove = "Remove it" if len(names) == 1 else "Remove them"
    return Violation(rules.ARGUMENTS_PROTOCOL, f"{what}: {why}. {remove} and call again.\n{declared_line(declared)}")


def no_such_key(keys: list[str], declared: Declared) -> Violation:
    """The violation for a filter by keys that no item has."""
    shown = ", ".join(name if name == "..." else f"'{name}'" for name in scrub_names(keys))
    known = ", ".join(scrub_names(declared.names)) or "none"
    return Violation(
        rules.ARGUMENTS_PROTOCOL, f"The items of the result have no {shown}. Their keys: {known}. Choose among them."
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _is_whole(value: object, most: int) -> bool:
    """Whether the value is an integer from 1 to `most`. JSON Schema counts `2.0` as an integer, and true not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= most and value % 1 == 0


_KINDS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    HELP: (lambda value: isinstance(value, bool), "true or false"),
    CONTINUATION_TOKEN: (lambda value: isinstance(value, str), "the text that the last answer gave"),
    "mode": (lambda value: value in _MODES if isinstance(value, str) else False, '"pieces" or "full"'),
    "page": (lambda value: _is_whole(value, _MOST_PAGE), "a whole number from 1"),
    "page_size": (lambda value: _is_whole(value, MOST_PAGE_SIZE), f"a whole number from 1 to {MOST_PAGE_SIZE}"),
    "filter_keys": (
        lambda value: isinstance(value, list) and bool(value) and all(isinstance(key, str) for key in value),
        "a list of the keys to keep",
    ),
    "filters": (lambda value: isinstance(value, dict), "an object of keys and the values they must have"),
}
