"""Expands ${NAME}, ${NAME:-default} and ${file:PATH} in what starts or reaches a server; nothing else is expanded."""

import re
from collections.abc import Mapping
from pathlib import Path

from handfast.regular_file import read_regular

# `$${` is a literal `${`. Any other dollar stays as it is: files written for other clients hold `pa$$word`.
_FORM = re.compile(
    r"\$\$\{|\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|\$\{file:(?P<file>[^}]+)\}|\$\{"
)
# A secret is a line. What is longer is another file than was meant.
_LONGEST_FILE = 64 * 1024


class UnsetVariable(Exception):
    """A variable or file without a value; the text goes after the key's name."""


def expand(text: str, environ: Mapping[str, str]) -> str:
    """The text with its variables and files filled in, once: what they hold is not expanded again.

    Raises: UnsetVariable.
    """

    def fill(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        if match["file"] is not None:
            return _read(match["file"])
        name, default = match["name"], match["default"]
        if name is None:
            raise UnsetVariable(
                'holds a "${" that is neither ${NAME}, ${NAME:-default} nor ${file:PATH}; write "$${" for a plain one'
            )
        value = environ.get(name)
        # As in a shell, `:-` also stands in for a variable that is set to nothing.
        if default is not None:
            return value or default
        if not value:
            what = "not set" if value is None else "empty"
            raise UnsetVariable(f"needs the variable {name}, which is {what}; set it or write ${{{name}:-default}}")
        return value

    return _FORM.sub(fill, text)


def _read(path: str) -> str:
    """What a file holds, without the line end that editors put there. Raises: UnsetVariable."""
    try:
        value = read_regular(Path(path).expanduser(), _LONGEST_FILE).decode("utf-8").rstrip("\r\n")
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else "it is no plain UTF-8 text"
        raise UnsetVariable(f"needs a file that cannot be read ({why}); check the path in ${{file:…}}") from None
    if not value:
        raise UnsetVariable("needs a file that is empty; put the value into it")
    return value
