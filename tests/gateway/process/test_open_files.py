"""The limit on open files is raised as far as it goes, and an operator hears of one that is too low."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from handfast.gateway.process.open_files import raise_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(raise_open_files(connections=1024, calls=256))
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
TOO_FEW = (
    "only 300 files may be open at once, and 1024 connections with 256 calls need 1408."
    " Raise the limit (ulimit -n), or lower limits.connections."
)


@pytest.mark.parametrize(
    ("soft", "hard", "told", "then"),
    [
        (64, 4096, "None", 4096),
        (4096, 4096, "None", 4096),
        (
            64,
            300,
            TOO_FEW,
            300,
        ),
    ],
)
def test_the_soft_limit_follows_the_hard_one(soft: int, hard: int, told: str, then: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(soft), str(hard)], capture_output=True, text=True, timeout=30
    )
    assert done.stdout.splitlines() == [told, str(then)], done.stderr
