"""The gateway's own process: its limit on open files, and what it keeps after large buffers were freed."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from handfast.gateway.process.own_process import raise_open_files
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


# Results that glibc has learnt to take from its heap, between things that stay: freeing them would return nothing.
FRAGMENTS = """
import os
from benchmarks.processes import resident_mb
from handfast.gateway.process.own_process import settle_memory
settle_memory()
for _ in range(3):
    x = bytes(20_000_000)
    del x
kept = []
chunks = []
for _ in range(10):
    chunks.append(b"x" * 5_000_000)
    kept.append(b"y" * 2_000)
before = resident_mb(os.getpid())
del chunks[:]
print(round(before - resident_mb(os.getpid())))
"""


@pytest.mark.requirement("F5")
@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_freed_buffers_of_large_messages_go_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", FRAGMENTS], capture_output=True, check=True)
    assert int(done.stdout) > 40
