"""Passes a server's stderr on to ours line by line, as text that cannot drive a terminal."""

import codecs
import io
import sys
from typing import Final

from handfast.core.words.printable import escape_text

_LONGEST_LINE: Final = 8192  # characters; what comes without a line end is passed on in pieces of this size


class ServerOutput:
    """The stderr of one process. Called with the bytes as they come, and with empty bytes at the end."""

    def __init__(self, label: str = "") -> None:
        """`label` tells servers apart that share our stderr."""
        self._label = label
        decode = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._decoder = io.IncrementalNewlineDecoder(decode, translate=True)
        self._rest = ""

    def __call__(self, data: bytes) -> None:
        text = self._rest + self._decoder.decode(data, final=not data)
        lines = text.split("\n")
        self._rest = lines.pop()
        while len(self._rest) > _LONGEST_LINE or (self._rest and not data):
            lines.append(self._rest[:_LONGEST_LINE])
            self._rest = self._rest[_LONGEST_LINE:]
        if lines:
            # One write for all lines: a write for each would make other connections wait.
            sys.stderr.write("".join(f"{self._label}{escape_text(line)}\n" for line in lines))
            sys.stderr.flush()
