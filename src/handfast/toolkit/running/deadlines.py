"""Deadlines that cancel calls that take too long, with one timer per event loop, as nearly all calls end before."""

import asyncio
import threading


class Deadline:
    """The deadline of one call, in the task that runs it."""

    __slots__ = ("_among", "cancelling", "has_passed", "task", "when")

    def __init__(self, task: "asyncio.Task[object]", when: float, among: "dict[Deadline, None]") -> None:
        self.task = task
        self.when = when
        self.has_passed = False
        self.cancelling = task.cancelling()
        self._among = among
        among[self] = None

    def end(self) -> bool:
        """Ends the deadline, however the call ended; returns whether only the deadline cancelled the call."""
        if self.has_passed:
            return self.task.uncancel() <= self.cancelling
        del self._among[self]
        return False

    def pass_(self) -> None:
        self.has_passed = True
        self.task.cancel()


class _Timer:
    """The deadlines of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # By duration, because deadlines of one duration are due in the order in which they began.
        self._running: dict[float, dict[Deadline, None]] = {}
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0  # time of the timer

    def start(self, task: "asyncio.Task[object]", seconds: float) -> Deadline:
        among = self._running.get(seconds)
        if among is None:
            among = self._running[seconds] = {}
        deadline = Deadline(task, self.loop.time() + seconds, among)
        if self._handle is None or deadline.when < self._due:
            self._look_at(deadline.when)
        return deadline

    def _look_at(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self.loop.call_at(when, self._look)
        self._due = when

    def _look(self) -> None:
        self._handle = None
        now = self.loop.time()
        for among in self._running.values():
            while among and (first := next(iter(among))).when <= now:
                del among[first]
                first.pass_()
        due = [next(iter(among)).when for among in self._running.values() if among]
        if due:
            self._look_at(min(due))


class _OfThread(threading.local):
    timer: _Timer | None = None  # of the loop that last ran here; calls of an earlier loop keep theirs until they end


_here = _OfThread()


def start_deadline(seconds: float) -> Deadline:
    """Starts a deadline for the current task. Raises: RuntimeError, if there is none."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("A call with a timeout needs a task of an event loop.")
    loop = task.get_loop()
    timer = _here.timer
    if timer is None or timer.loop is not loop:
        timer = _here.timer = _Timer(loop)
    return timer.start(task, seconds)
