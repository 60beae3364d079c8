"""AuthRefused: why a caller was not let in, in words for the caller and as a rule for the record."""

from typing import Final

NEEDS_EXTRA: Final = (
    "tokens need packages that are not installed. Run in the checkout: scripts/setup, or in an environment of yours:"
    ' pip install ".[access]"'
)


class AuthRefused(Exception):
    """A request whose caller cannot be told. The text says what to do, and quotes nothing of the token."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule
        self.text = text
