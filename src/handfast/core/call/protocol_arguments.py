"""The arguments that are the protocol's and no tool's: taken out before dispatch, unless the tool declares them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from handfast.core.call import rules
from handfast.core.call.arguments import declared_line
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
MOST_PAGE_SIZE: Final = 500  # the same as a tool's own pages have

_MOST_PAGE: Final = 2**53  # beyond it a number of JSON is not sure to be what was meant


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolArguments:
    """What a caller wants to know beside the call itself, or how much of its result."""

    help: bool = False
    continuation_token: str | None = None
    mode: str | None = None
    page: int | None = None
    page_size: int | None = None
    filter_keys: tuple[str, ...] | None = None
    filters: Mapping[str, object] | None = None

    @property
    def about_result(self) -> tuple[str, ...]:
        """The names of those that mean something only where a result comes in pieces."""
        names = (CONTINUATION_TOKEN, "mode", *_NARROWING)
        return tuple(name for name in names if getattr(self, name) is not None)

    @property
    def narrowing(self) -> tuple[str, ...]:
        """The names of those that choose among the items of a list."""
        return tuple(name for name in _NARROWING if getattr(self, name) is not None)


_NARROWING: Final = ("page", "page_size", "filter_keys", "filters")


def take_out(arguments: Mapping[str, object], declared: Declared) -> tuple[dict[str, object], dict[str, object]]:
    """The tool's own arguments and the protocol's. What a tool declares, or takes as any other key, is the tool's."""
    # An authored schema without properties is not open for that: it says so with additionalProperties or a pattern.
    said = replace(declared, declares_nothing_said=False)
    rest: dict[str, object] = {}
    taken: dict[str, object] = {}
    for key, value in arguments.items():
        is_own = key not in PROTOCOL_ARGUMENTS or key in said.names or said.is_open(key)
        (rest if is_own else taken)[key] = value
    return rest, taken


def read_protocol(taken: Mapping[str, object]) -> ProtocolArguments | Violation:
    """What was taken out, understood; null is the same as absent."""
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
    """A protocol argument that would be ignored is refused, never dropped."""
    shown = ", ".join(f"'{name}'" for name in names)
    what = f"Argument {shown} means nothing here" if len(names) == 1 else f"Arguments {shown} mean nothing here"
    remove = "Remove it" if len(names) == 1 else "Remove them"
    return Violation(rules.ARGUMENTS_PROTOCOL, f"{what}: {why}. {remove} and call again.\n{declared_line(declared)}")


def no_such_key(keys: list[str], declared: Declared) -> Violation:
    """Items are chosen by a key that none of them has."""
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
    """From 1 on. `2.0` is the integer 2 to JSON Schema; true is none."""
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
