"""The worker process: judges one value after another, and may be killed at any moment."""

import os
import signal
import sys
from collections import OrderedDict
from typing import BinaryIO, NamedTuple

import jsonschema_rs

from handfast.core.call.strict_json import Ambiguous, decode_judged, depth_exceeds
from handfast.core.schema.compiled import SchemaRefused, build_slow_validator, decode_checked, is_valid_if_coerced
from handfast.core.schema.violation_texts import declared_names, describe_errors
from handfast.slow_lane.frames import HEADER_BYTES, Job, Stage, body_length, pack, unpack_job

# Decoding the largest result takes 200 MB; a value that needs more than this is hostile, and costs one job.
MEMORY_BYTES = 1024 * 1024 * 1024

# Compiled schemas kept between jobs.
MOST_SCHEMAS = 32


class _Compiled(NamedTuple):
    validator: jsonschema_rs.Validator
    backtracks: bool
    names: frozenset[str]
    content: object


def _conforms(schema: _Compiled, value: object) -> bool:
    try:
        return schema.validator.is_valid(value)
    except UnicodeEncodeError:
        return False  # a lone surrogate is not text


def _gave_up(schema: _Compiled, value: object) -> bool:
    """Whether a pattern reached its backtrack limit: the library then says invalid, whatever the schema makes of it."""
    if not schema.backtracks:
        return False
    try:
        schema.validator.validate(value)
    except jsonschema_rs.ValidationError as problem:
        return isinstance(problem.kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded)
    except UnicodeEncodeError:
        return False  # no pattern was matched against it
    return False


def _words(schema: _Compiled, value: object, *, show_names: bool) -> Stage:
    try:
        errors = schema.validator.iter_errors(value)
    except UnicodeEncodeError:
        return Stage("words", words=("contains text that is not valid Unicode",))
    words = describe_errors(errors, value, schema=schema.content, names=schema.names, show_names=show_names)
    facts = tuple(fact for wording in words for fact in wording.facts)
    return Stage("words", words=tuple(map(str, words)), facts=facts)


class Worker:
    """Reads jobs until its input closes; answers in stages, so that a verdict never waits for its wording."""

    def __init__(self, jobs: BinaryIO, answers: BinaryIO) -> None:
        self.jobs = jobs
        self.answers = answers
        self.compiled: OrderedDict[str, _Compiled] = OrderedDict()

    def run(self) -> None:
        self.say(Stage("ready"))
        while header := self.jobs.read(HEADER_BYTES):
            job = unpack_job(self.jobs.read(body_length(header)))
            _end_after(job.seconds)
            self.judge(job)
            _end_after(0)

    def judge(self, job: Job) -> None:
        try:
            schema = self.compile(job)
        except SchemaRefused as refused:
            self.say(Stage("uncompilable", words=(str(refused),)))
            return
        self.say(Stage("compiled", backtracks=schema.backtracks))
        if job.max_depth is not None and depth_exceeds(job.value, job.max_depth):
            self.say(Stage("too deep"))
            return
        try:
            value = decode_judged(job.value)
        except Ambiguous as problem:
            self.say(Stage("ambiguous", words=(str(problem),)))
            return
        conforms = _conforms(schema, value)
        if not conforms and _gave_up(schema, value):
            self.say(Stage("too slow"))
            return
        if not conforms and job.lenient:
            conforms = is_valid_if_coerced(schema.validator, value)
        self.say(Stage("verdict", conforms=conforms))
        # Words that were not requested would be read as the answer to the next job.
        if not conforms and job.wording:
            self.say(_words(schema, value, show_names=job.show_names))

    def compile(self, job: Job) -> _Compiled:
        if job.digest not in self.compiled:
            content = decode_checked(job.schema)
            self.compiled[job.digest] = _Compiled(
                *build_slow_validator(content, asserts_formats=job.asserts_formats), declared_names(content), content
            )
            if len(self.compiled) > MOST_SCHEMAS:
                self.compiled.popitem(last=False)
        self.compiled.move_to_end(job.digest)
        return self.compiled[job.digest]

    def say(self, stage: Stage) -> None:
        self.answers.write(pack(stage))
        self.answers.flush()


def _end_after(seconds: float) -> None:
    """Ends this process unless called again in time; the alarm's default action works even while Python is blocked."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _stand_back() -> None:
    """Lowers the priority of this process and bounds its memory."""
    # An interrupt at the terminal is for the parent, which ends this process when it ends itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(5)
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    _stand_back()
    Worker(sys.stdin.buffer, sys.stdout.buffer).run()


if __name__ == "__main__":
    main()
