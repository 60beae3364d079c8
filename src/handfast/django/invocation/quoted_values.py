"""Messages of the project's own that may quote what the caller sent: shown without it."""

from collections.abc import Iterator
from typing import Any, Final

from handfast.core.words.redaction import is_secret_name, scrub_text

_MASK: Final = "…"
_QUOTES: Final = (('"', '"'), ("'", "'"), ("“", "”"), ("«", "»"), ("`", "`"))
_MOST_VALUES: Final = 500  # that are looked for in a message
_LONG: Final = 12  # what is as long as this is no word of the message's own
_SHORTEST_SECRET: Final = 4
_MOST_TEXT: Final = 300


class Unquoting:
    """The values of one call, to be kept out of what is said about it."""

    def __init__(self, arguments: object) -> None:
        found: dict[str, bool] = {}
        for text, is_secret in _scalars(arguments, is_secret=False):
            found[text] = found.get(text, False) or is_secret
            if len(found) == _MOST_VALUES:
                break
        # The longest first: one value may be a part of another.
        self._values = sorted(found.items(), key=lambda pair: -len(pair[0]))

    def shown(self, text: str) -> str:
        """One line, secrets masked, and none of the values where it can be told from the message's own words."""
        for value, is_secret in self._values:
            if value not in text:
                continue
            for opening, closing in _QUOTES:
                text = text.replace(f"{opening}{value}{closing}", f"{opening}{_MASK}{closing}")
            if _is_telling(value) or (is_secret and len(value) >= _SHORTEST_SECRET):
                text = text.replace(value, _MASK)
        return scrub_text(text, most=_MOST_TEXT)


def _is_telling(value: str) -> bool:
    """Whether it is no plain word, and no short number, which a message may well have of its own."""
    return len(value) >= _LONG or (len(value) >= _SHORTEST_SECRET and not value.isalpha())


def _scalars(value: Any, *, is_secret: bool) -> Iterator[tuple[str, bool]]:  # Any: JSON
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, is_secret=is_secret or is_secret_name(str(key)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _scalars(inner, is_secret=is_secret)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value).strip()
        if text:
            yield text, is_secret
