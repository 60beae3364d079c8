"""A session of a README, pasted line by line and held against what the README shows."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.demo import HANDFAST, ROOT
from tests.test_documents import Step, fits


def paste_session(session: Sequence[Step], environment: Mapping[str, str], *, config: str) -> None:
    """The first line and the last start what they need, as a reader's would; the others find a gateway that runs.

    Each that starts a gateway and a server of its own takes two seconds, and shows the same as the first.
    """
    first, *others, last = session
    _paste(first, environment)
    with _serving(environment, config) as url:
        for step in others:
            _paste(step, {**environment, "HANDFAST_URL": url})
    _paste(last, environment)


def _paste(step: Step, environment: Mapping[str, str]) -> None:
    words = ["bash", "-c", step.command]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    # stderr is for the operator.
    assert fits(step.shown, done.stdout.splitlines()), f"$ {step.command}\n{done.stdout}{done.stderr}"


@contextmanager
def _serving(environment: Mapping[str, str], config: str) -> Iterator[str]:
    command = [sys.executable, str(HANDFAST), "serve", "--config", config, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert "listening on" in line, line
            yield line.split()[-1]
        finally:
            process.terminate()
            process.communicate(timeout=30)
