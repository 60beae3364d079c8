"""Regular expressions of Python in the dialect that JSON Schema readers share, where there is one."""

import json
import re
from functools import lru_cache
from typing import Final

from handfast.core.schema.compiled import CompiledSchema, compile_schema

MOST_CHARACTERS: Final = 300  # a longer one says nothing to an agent, and the serializer judges by it anyway

# Flags change what a pattern means and cannot be written down; without ASCII these classes hold other letters than
# elsewhere; the rest is known to Python alone, or to engines that can be made to search without end.
_FLAGS: Final = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE
_BY_ALPHABET: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[wWsSbB]")
_BEYOND: Final = re.compile(r"\(\?(?!P<|:)|(?<!\\)(?:\\\\)*\\(?:[1-9]|[kgGN])|\(\?P=|[*+?}]\+")
_ENDINGS: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\[zZ]")
_STARTS: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\A")


@lru_cache(maxsize=1024)
def portable(pattern: str, flags: int = 0) -> str | None:
    """The same pattern for a schema's `pattern`, or None where no schema should have it."""
    if len(pattern) > MOST_CHARACTERS or flags & _FLAGS or _BEYOND.search(pattern):
        return None
    if _BY_ALPHABET.search(pattern) and not flags & re.ASCII:
        return None
    written = _STARTS.sub(r"\1^", _ENDINGS.sub(r"\1$", pattern)).replace("(?P<", "(?<")
    compiled = compile_schema(json.dumps({"pattern": written}).encode())
    if not isinstance(compiled, CompiledSchema) or compiled.validator is None:
        return None
    return written


def whole(pattern: str) -> str | None:
    """A pattern for the whole text, as a part of a path is matched."""
    written = portable(pattern)
    return None if written is None else f"^(?:{written})$"
