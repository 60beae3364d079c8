"""Readers of other languages and libraries, each a process that lives as long as the fuzzer."""

import base64
import json
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.fuzz.client import Headers
from tests.fuzz.promises import Json
from tests.parts import NODE, PYTHON

_HERE = Path(__file__).parent
Kind = Literal["request", "text", "lines", "events"]


@dataclass(frozen=True, slots=True)
class Job:
    """Bytes to read, in the pieces they came in, and what their headers say about them."""

    kind: Kind
    pieces: tuple[bytes, ...]
    headers: Headers = ()

    def spelled(self) -> Json:
        headers = [[_text(name), _text(value)] for name, value in self.headers]
        return {"kind": self.kind, "pieces": [_text(piece) for piece in self.pieces], "headers": headers}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class ReaderEnded(Exception):
    """A reader is gone, so nothing can be said of the case."""


class ForeignReader:
    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, jobs: Sequence[Job]) -> list[list[Json]]:
        """For each job what was found in it."""
        if not jobs:
            return []
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps([job.spelled() for job in jobs]).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise ReaderEnded(f"{self._process.args!r} ended with {self._process.wait(10)}; run the fuzzer again")
        found: list[list[Json]] = json.loads(line)
        assert len(found) == len(jobs)
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.kill()
        self._process.wait(10)


def node_reader() -> ForeignReader:
    return ForeignReader([str(NODE), str(_HERE / "node_readers.mjs"), str(NODE.parent)])


def httpx_reader() -> ForeignReader:
    return ForeignReader([str(PYTHON), "-I", str(_HERE / "httpx_reader.py")])
