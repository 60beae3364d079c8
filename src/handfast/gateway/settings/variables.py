"""Expands ${NAME} and ${NAME:-default} in what starts or reaches a server; nothing else is ever expanded."""

import re
from collections.abc import Mapping

# `$${` is a literal `${`. Any other dollar stays as it is: files written for other clients hold `pa$$word`.
_FORM = re.compile(r"\$\$\{|\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|\$\{")


class UnsetVariable(Exception):
    """A variable that has neither a value nor a default; the text goes after the key's name."""


def expand(text: str, environ: Mapping[str, str]) -> str:
    """The text with its variables filled in, once: what a variable holds is not expanded again.

    Raises: UnsetVariable.
    """

    def fill(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        name, default = match["name"], match["default"]
        if name is None:
            raise UnsetVariable(
                'holds a "${" that is neither ${NAME} nor ${NAME:-default}; write "$${" for a plain one'
            )
        value = environ.get(name)
        # As in a shell, `:-` also stands in for a variable that is set to nothing.
        if default is not None:
            return value or default
        if value is None:
            raise UnsetVariable(f"needs the variable {name}, which is not set; set it or write ${{{name}:-default}}")
        return value

    return _FORM.sub(fill, text)
