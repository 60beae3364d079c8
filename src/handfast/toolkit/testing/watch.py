"""Watch: observes whether handlers of a toolbox run during a check, and what they raise."""

import asyncio
import sys
import sysconfig
import traceback
from asyncio import runners
from pathlib import Path
from typing import Any, NoReturn

from handfast.core.answers.errors import ToolError
from handfast.toolkit.testing.blocked_loops import LoopBlocked, ended_or_left, interrupted_when_blocked
from handfast.toolkit.writing.call import Call
from handfast.toolkit.writing.spec import Run, ToolSpec

# Frames of libraries are left out, because an author needs the place that called the library.
_NOT_OURS = (str(Path(__file__).parent), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))


class Escaped(Exception):
    """Replaces an exception of a handler that would have ended the session or the process."""


class Watch:
    """Whether the handler ran in the last call, and what it raised."""

    def __init__(self, patience_s: float) -> None:
        self.ran = False
        self.raised: BaseException | None = None
        self._patience_s = patience_s

    def begin(self) -> None:
        self.ran, self.raised = False, None

    def noted(self, spec: ToolSpec) -> Run:
        """A function that runs the handler and notes what it raises."""
        run = spec.run
        assert run is not None  # the registry accepts no other

        async def noted(model: Any, arguments: dict[str, Any], call: Call) -> Any:  # Any: as of Run
            try:
                return await run(model, arguments, call)
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise  # cancelled from outside
                self._escape(error)
            except (SystemExit, LoopBlocked) as error:
                self._escape(error)
            except KeyboardInterrupt as error:
                if _is_users(error):
                    raise
                self._escape(error)
            except Exception as error:
                self.raised = error
                raise

        async def run_noted(model: Any, arguments: dict[str, Any], call: Call) -> Any:  # Any: as of Run
            self.ran = True
            with interrupted_when_blocked(self._patience_s):
                return await ended_or_left(asyncio.create_task(noted(model, arguments, call)))

        return run_noted

    def held(self, _spec: ToolSpec) -> Run:
        """A function that only notes that the handler would have run, so that any tool may be tried."""

        async def run_held(_model: Any, _arguments: dict[str, Any], _call: Call) -> Any:  # Any: as of Run
            self.ran = True
            raise Escaped

        return run_held

    def _escape(self, error: BaseException) -> NoReturn:
        self.raised = error
        raise Escaped from None

    @property
    def told(self) -> str:
        """What was raised and where, such as `KeyError at contacts.py:31 in get_contact`; empty if nothing was."""
        error = self.raised
        if error is None:
            return ""
        if isinstance(error, ToolError):
            return f"the code '{error.code}', which the server does not declare"
        frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_NOT_OURS)]
        where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
        return f"{type(error).__name__}{where}"

    @property
    def told_in_failure(self) -> str:
        """The class of an exception whose text a handler passes on in its own failure; empty if it does not.

        An author's own exceptions may carry text for the agent; those of Python and libraries never do.
        """
        error = self.raised
        if not isinstance(error, ToolError):
            return ""
        inner = error.__cause__ or error.__context__
        if inner is None or _is_authors(type(inner)):
            return ""
        return type(inner).__name__ if len(str(inner)) > 3 and str(inner) in f"{error.message} {error.details}" else ""


def _is_users(error: KeyboardInterrupt) -> bool:
    """Whether the user raised it, with Ctrl-C, and not the tool."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename == runners.__file__


def _is_authors(kind: type[BaseException]) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and not file.startswith(_NOT_OURS)
