"""Runs the renderer: starts its process, waits for it no longer than agreed, and reports how it failed."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from darkroom.refusal import Code, Refused

COMMAND: Final = (sys.executable, "-m", "darkroom.renderer")
_PACKAGE: Final = Path(__file__).parents[1]
_AT_ONCE: Final = 2  # each takes a core and the memory of a whole picture as floats
_TAIL_LINES: Final = 20
_TAIL_CHARACTERS: Final = 2000


class Renderer:
    """Every picture is decoded and rendered in a process that may die without harm to the server."""

    def __init__(self, *, seconds: float = 60.0, command: Sequence[str] = COMMAND) -> None:
        self._seconds = seconds
        self._command = command
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, request: Mapping[str, object]) -> dict[str, object]:
        """Hand one request to a fresh renderer.

        Raises:
            Refused: darktable_error, with the tail of its stderr, when it fails, dies, or takes too long.
        """
        async with self._places:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": str(_PACKAGE)},
            )
            talk = _Talk(process, json.dumps(request).encode("ascii"))
            try:
                async with asyncio.timeout(self._seconds):
                    await talk.run()
            except TimeoutError:
                raise _failed(f"did not finish within {self._seconds:g} seconds", talk, reason="timeout") from None
            finally:
                await talk.end()
        return _answer(talk)


class _Talk:
    """One conversation with a renderer: what it said so far is there however the conversation ends."""

    def __init__(self, process: asyncio.subprocess.Process, request: bytes) -> None:
        self._process = process
        self._request = request
        self.stdout = bytearray()
        self.stderr = bytearray()

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    async def run(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send())
            tasks.create_task(_collect(self._process.stdout, self.stdout))
            tasks.create_task(_collect(self._process.stderr, self.stderr))
        await self._process.wait()

    async def end(self) -> None:
        """Leave no process behind, also when the call was cancelled."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def _send(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(self._request)
            await self._process.stdin.drain()
            self._process.stdin.close()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it died before it read all; its exit code says so


async def _collect(stream: asyncio.StreamReader, into: bytearray) -> None:
    while piece := await stream.read(65536):
        into += piece


def _answer(talk: _Talk) -> dict[str, object]:
    if talk.exit_code is not None and talk.exit_code < 0:
        raise _failed("was killed", talk, reason="signal", signal=-talk.exit_code)
    if talk.exit_code:
        raise _failed("failed", talk, reason="exit", exit_code=talk.exit_code)
    try:
        answer = json.loads(talk.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise _failed("gave no answer", talk, reason="no_answer")
    return answer


def _failed(what: str, talk: _Talk, **details: object) -> Refused:
    lines = talk.stderr.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return Refused(
        Code.DARKTABLE_ERROR,
        f"The renderer {what}. details.stderr has its last words; check the picture or the edits and call again.",
        stderr="\n".join(lines)[-_TAIL_CHARACTERS:],
        **details,
    )
