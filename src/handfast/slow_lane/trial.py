"""Whether the worker can compile schemas, asked once and waited for: before a server of our own begins."""

import subprocess
from collections.abc import Iterator, Sequence

from handfast.core.schema.compiled import CompiledSchema
from handfast.slow_lane.client import COMPILE_SECONDS, START_SECONDS, TOO_SLOW_TO_COMPILE, WORKER, worker_environment
from handfast.slow_lane.frames import HEADER_BYTES, Job, Stage, body_length, pack, unpack_stage


def find_refusals(schemas: Sequence[CompiledSchema]) -> Iterator[tuple[CompiledSchema, str]]:
    """Those that cannot be compiled, and why. Where no worker can be started nothing is found: calls will tell."""
    left = list(schemas)
    while left:
        stages = _ask([_job(schema) for schema in left])
        if not stages:
            return
        for stage in stages:
            if stage.name == "uncompilable":
                yield left[0], "".join(stage.words)
            if stage.name != "compiled":  # the verdict on a value that only fills the place of one
                left.pop(0)
        if left and stages[-1].name != "compiled":
            yield left[0], TOO_SLOW_TO_COMPILE.reason  # the worker ended over it
        left = left[1:]


def _job(schema: CompiledSchema) -> Job:
    return Job(schema.digest, schema.text, b"null", wording=False, show_names=False, seconds=COMPILE_SECONDS)


def _ask(jobs: list[Job]) -> list[Stage]:
    """The stages up to the end of the worker, without the first, which says that it is ready; none if it is not."""
    seconds = START_SECONDS + sum(job.seconds for job in jobs)  # each ends the worker by itself before that
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
