"""The worker by itself: its stages in order, its end with its input, and its own alarm."""

import io
import json
import signal
import subprocess
import sys

import pytest

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.core.words.wording import Fact
from handfast.slow_lane.frames import HEADER_BYTES, Job, Stage, body_length, pack, unpack_stage
from handfast.slow_lane.worker import MOST_SCHEMAS, Worker


def answers(*jobs: Job) -> list[Stage]:
    said = io.BytesIO()
    Worker(io.BytesIO(b"".join(map(pack, jobs))), said).run()
    said.seek(0)
    stages = []
    while header := said.read(HEADER_BYTES):
        stages.append(unpack_stage(said.read(body_length(header))))
    return stages


def job(schema: bytes, value: bytes, *, wording: bool = True, digest: str = "d", seconds: float = 60) -> Job:
    return Job(digest, schema, value, wording, show_names=False, seconds=seconds)


INTEGER = (Fact("", "type", "integer"),)
READY, COMPILED = Stage("ready"), Stage("compiled")


def test_each_stage_is_told_as_soon_as_it_is_reached() -> None:
    wrong = (COMPILED, Stage("verdict"), Stage("words", words=("must be an integer, not a string",), facts=INTEGER))
    assert answers(
        job(b'{"type": "integer"}', b'"x"'),
        job(b'{"type": "integer"}', b'"x"', wording=False),
        job(b'{"type": "integer"}', b"1"),
    ) == [READY, *wrong, COMPILED, Stage("verdict"), COMPILED, Stage("verdict", conforms=True)]


def test_a_schema_that_cannot_be_compiled_is_told_with_its_reason() -> None:
    refused = Stage("uncompilable", words=("The schema is not valid at #/type.",))
    assert answers(job(b'{"type": "strin"}', b"1"), job(b"true", b"1", digest="e")) == [
        READY,
        refused,
        COMPILED,
        Stage("verdict", conforms=True),
    ]


@pytest.mark.parametrize("form", ["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "duration", "made-up"])
@pytest.mark.parametrize("value", ["2026-03-17", "17.03.2026", "a@b.example", "https://a.example/b", "", "PT1H", 5])
def test_formats_are_judged_here_as_they_are_in_place(form: str, value: object) -> None:
    text = json.dumps({"format": form}).encode()
    schema = compile_schema(text)
    assert isinstance(schema, CompiledSchema)
    for judged in (schema, schema.asserting):
        asked = Job(
            judged.digest,
            judged.text,
            json.dumps(value).encode(),
            wording=False,
            show_names=False,
            seconds=60,
            asserts_formats=judged.asserts_formats,
        )
        assert answers(asked)[-1] == Stage("verdict", conforms=judged.is_valid(value))
    assert schema.is_valid(value)


def test_only_so_many_compiled_schemas_are_kept() -> None:
    jobs = [job(b"true", b"1", digest=str(number)) for number in range(MOST_SCHEMAS + 5)]
    worker = Worker(io.BytesIO(b"".join(map(pack, jobs))), io.BytesIO())
    worker.run()
    assert list(worker.compiled) == [str(number) for number in range(5, MOST_SCHEMAS + 5)]


def unevaluated(levels: int) -> bytes:
    return b'{"unevaluatedProperties":false,"allOf":[' * levels + b'{"properties":{"a":{}}}' + b"]}" * levels


def run_worker(*jobs: Job) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "handfast.slow_lane.worker"]
    return subprocess.run(command, input=b"".join(map(pack, jobs)), capture_output=True, timeout=60, check=False)


def test_the_worker_ends_when_its_input_does() -> None:
    done = run_worker(job(b"true", b"1"))
    assert (done.returncode, done.stdout) == (
        0,
        b"".join(map(pack, [READY, COMPILED, Stage("verdict", conforms=True)])),
    )


@pytest.mark.requirement("C1")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
def test_the_alarm_ends_the_worker_even_while_it_validates() -> None:
    done = run_worker(job(unevaluated(26), b'{"a":1}', seconds=0.5))
    assert (done.returncode, done.stdout) == (-signal.SIGALRM, pack(READY) + pack(COMPILED))


@pytest.mark.requirement("P7")
def test_the_worker_imports_only_what_it_needs() -> None:
    unneeded = {"asyncio", "uvicorn", "sqlite3", "ssl"}
    script = f"import sys, handfast.slow_lane.worker; print(sorted({unneeded} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("text", [b'{"a": 1, "a": 2}', b"[NaN]", b'"\\ud800"', b"{"])
def test_what_two_readers_take_differently_gets_no_verdict(text: bytes) -> None:
    stages = answers(Job("d", b"true", text, wording=True, show_names=False, seconds=5))
    assert [stage.name for stage in stages][-1] == "ambiguous"
    assert stages[-1].words[0]
