"""SlowLane: sends values to the worker process, one at a time, and kills the process when it takes too long."""

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, Required, TypedDict

from handfast.core.schema.compiled import CompiledSchema
from handfast.core.words.wording import Fact
from handfast.slow_lane.frames import HEADER_BYTES, Job, Stage, body_length, pack, unpack_stage

# Starting takes 0.1 s on an idle machine; this leaves a busy one plenty of time.
START_SECONDS = 10.0

# A schema that takes longer to compile counts as uncompilable.
COMPILE_SECONDS = 1.0

# If a pattern has look-around, the time depends on the caller's text, so no deadline is longer than this, not even
# for our own schemas: other calls wait meanwhile.
BACKTRACKING_SECONDS = 1.0

# A verdict waits this long for its wording, then is returned without.
WORDING_SECONDS = 0.05

# If the parent is gone, the worker ends itself this long after the last deadline.
ORPHAN_SECONDS = 1.0

# A schema that was too slow this often rests, so that one bad tool cannot starve the others: it takes about a second
# of a minute. Not forever, because one caller's value may have been slow, and other callers use the tool too.
MOST_KILLS = 3
REST_SECONDS = 60.0
MOST_REMEMBERED = 1_024

# More callers than this do not queue: at a quarter of a second each they would wait for a minute.
MOST_WAITING = 256

# The worker only needs the variables that make Python start; tokens in the environment are not passed on.
_KEPT_ENVIRONMENT = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")

# -P: modules are never imported from the working directory.
WORKER = (sys.executable, "-P", "-m", "handfast.slow_lane.worker")

Problem = Literal["", "too slow", "uncompilable", "too deep", "ambiguous"]


@dataclass(frozen=True, slots=True)
class LaneVerdict:
    """A verdict. `conforms` is None if there is a problem; `words` may be empty even if the value does not conform."""

    conforms: bool | None
    words: tuple[str, ...] = ()
    problem: Problem = ""
    facts: tuple[Fact, ...] = field(default=(), compare=False)  # what the words say
    reason: str = ""  # why a schema is uncompilable, for the operator


TOO_SLOW = LaneVerdict(None, problem="too slow")
TOO_SLOW_TO_COMPILE = LaneVerdict(None, problem="uncompilable", reason="The schema takes too long to compile.")


class LaneWishes(TypedDict, total=False):
    """How a value is to be judged, and whether violations are to be worded."""

    wording: Required[bool]
    show_names: bool
    lenient: bool
    max_depth: int | None


@dataclass(slots=True)
class _SchemaTrouble:
    """The worker's failures over one schema."""

    kills: int = 0
    wording_kills: int = 0
    final: LaneVerdict | None = None
    rests_until: float = 0.0  # monotonic seconds

    @property
    def verdict(self) -> LaneVerdict | None:
        """The verdict that needs no worker, or None."""
        return TOO_SLOW if self.rests_until > monotonic() else self.final

    def blame(self, verdict: LaneVerdict) -> LaneVerdict:
        """Notes that the worker was lost over this schema."""
        self.kills += 1
        if self.kills >= MOST_KILLS:
            if verdict is TOO_SLOW:
                self.rests_until, self.kills = monotonic() + REST_SECONDS, 0
            else:
                self.final = verdict
        return verdict


class _WorkerLost(Exception):
    """The worker ended, or its answer was invalid."""


class SlowLane:
    """Judges values that are too heavy to judge in place. For one event loop; starts its worker on first use."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # wakes its waiters in the order of arrival
        self._waiting = 0
        self._process: Process | None = None
        self._troubles: OrderedDict[str, _SchemaTrouble] = OrderedDict()
        self._jobs: set[asyncio.Task[LaneVerdict]] = set()
        self._is_closed = False

    async def verdict(
        self,
        schema: CompiledSchema,
        value_text: bytes,
        *,
        deadline: float = 0.25,
        wording: bool,
        show_names: bool = False,
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> LaneVerdict:
        """Judges the JSON text by its depth and by the schema, within the deadline once its turn has come."""
        trouble = self._trouble(schema.digest)
        if (known := trouble.verdict) is not None:
            return known
        if self._is_closed or self._waiting >= MOST_WAITING:
            return TOO_SLOW
        await self._take_turn()
        wanted = wording and trouble.wording_kills < MOST_KILLS
        seconds = COMPILE_SECONDS + deadline + WORDING_SECONDS + ORPHAN_SECONDS
        asserts = schema.asserts_formats
        job = Job(schema.digest, schema.text, value_text, wanted, show_names, seconds, lenient, asserts, max_depth)
        # A caller that leaves must not cancel the reading of the answer: the next job would read the wrong answer.
        task = asyncio.ensure_future(self._run(job, trouble, deadline))
        self._jobs.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Ends the worker and waits until it is gone; jobs in progress get the verdict "too slow"."""
        self._is_closed = True
        await self._end_worker()
        if self._jobs:
            await asyncio.wait(self._jobs)
        await self._end_worker()

    async def _take_turn(self) -> None:
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1

    def _finished(self, task: asyncio.Task[LaneVerdict]) -> None:
        self._jobs.discard(task)
        self._turn.release()
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved, even if the caller has left

    async def _run(self, job: Job, trouble: _SchemaTrouble, deadline: float) -> LaneVerdict:
        if (known := trouble.verdict) is not None:
            return known  # known since this job began to wait
        if self._is_closed:
            return TOO_SLOW
        try:
            process = await self._worker()
        except (TimeoutError, _WorkerLost, OSError):
            await self._end_worker()
            return TOO_SLOW
        answer = await self._judge(process, job, trouble, deadline)
        if answer.problem == "uncompilable" and answer is not TOO_SLOW_TO_COMPILE:
            trouble.final = answer
        return answer

    async def _judge(self, process: Process, job: Job, trouble: _SchemaTrouble, deadline: float) -> LaneVerdict:
        late = TOO_SLOW_TO_COMPILE
        try:
            async with asyncio.timeout(COMPILE_SECONDS):
                compiled = await _ask(process, job)
            if compiled.name == "uncompilable":
                return LaneVerdict(None, problem="uncompilable", reason="".join(compiled.words))
            late = TOO_SLOW
            async with asyncio.timeout(min(deadline, BACKTRACKING_SECONDS) if compiled.backtracks else deadline):
                verdict = await _hear(process, "verdict", "too deep", "ambiguous", "too slow")
            if verdict.name == "too slow":
                return TOO_SLOW  # matching gave up at its limit; the worker goes on
            if verdict.name == "too deep":
                return LaneVerdict(None, problem="too deep")
            if verdict.name == "ambiguous":
                return LaneVerdict(None, verdict.words, problem="ambiguous")
        except (TimeoutError, _WorkerLost):
            await self._end_worker()
            return late if self._is_closed else trouble.blame(late)
        if verdict.conforms or not job.wording:
            return LaneVerdict(verdict.conforms)
        worded = await self._words(process, trouble)
        return LaneVerdict(verdict.conforms, worded.words, facts=worded.facts)

    async def _words(self, process: Process, trouble: _SchemaTrouble) -> Stage:
        try:
            async with asyncio.timeout(WORDING_SECONDS):
                return await _hear(process, "words")
        except (TimeoutError, _WorkerLost):
            trouble.wording_kills += 1
            await self._end_worker()
            return Stage("words")

    def _trouble(self, digest: str) -> _SchemaTrouble:
        trouble = self._troubles.setdefault(digest, _SchemaTrouble())
        self._troubles.move_to_end(digest)
        if len(self._troubles) > MOST_REMEMBERED:
            self._troubles.popitem(last=False)
        return trouble

    async def _worker(self) -> Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self._end_worker()
        self._process = await asyncio.create_subprocess_exec(
            *WORKER, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=worker_environment()
        )
        async with asyncio.timeout(START_SECONDS):
            await _hear(self._process, "ready")
        return self._process

    async def _end_worker(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it may just have ended
                process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


def worker_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}


async def _ask(process: Process, job: Job) -> Stage:
    assert process.stdin is not None
    try:
        process.stdin.write(pack(job))
        await process.stdin.drain()
    except (ConnectionError, RuntimeError) as problem:
        raise _WorkerLost from problem
    return await _hear(process, "compiled", "uncompilable")


async def _hear(process: Process, *expected: str) -> Stage:
    assert process.stdout is not None
    try:
        length = body_length(await process.stdout.readexactly(HEADER_BYTES))
        stage = unpack_stage(await process.stdout.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError, ValueError) as problem:
        raise _WorkerLost from problem
    if stage.name not in expected:
        raise _WorkerLost
    return stage


def find_refusals(schemas: Sequence[CompiledSchema]) -> Iterator[tuple[CompiledSchema, str]]:
    """The schemas that cannot be compiled, with the reason. Yields none if the worker cannot be started."""
    left = list(schemas)
    while left:
        stages = _run_jobs([_job(schema) for schema in left])
        if not stages:
            return
        for stage in stages:
            if stage.name == "uncompilable":
                yield left[0], "".join(stage.words)
            if stage.name != "compiled":  # the verdict on the placeholder value ends a job
                left.pop(0)
        if left and stages[-1].name != "compiled":
            yield left[0], TOO_SLOW_TO_COMPILE.reason  # the worker died while compiling it
        left = left[1:]


def _job(schema: CompiledSchema) -> Job:
    return Job(schema.digest, schema.text, b"null", wording=False, show_names=False, seconds=COMPILE_SECONDS)


def _run_jobs(jobs: list[Job]) -> list[Stage]:
    """All stages that the worker sends until it ends, without the first, "ready"; empty if it does not start."""
    seconds = START_SECONDS + sum(job.seconds for job in jobs)  # each job's own alarm ends the worker earlier
    try:
        done = subprocess.run(
            WORKER,
            input=b"".join(map(pack, jobs)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=worker_environment(),
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return list(_stages(done.stdout))[1:]


def _stages(said: bytes) -> Iterator[Stage]:
    while len(said) > HEADER_BYTES:
        end = HEADER_BYTES + body_length(said[:HEADER_BYTES])
        yield unpack_stage(said[HEADER_BYTES:end])
        said = said[end:]
