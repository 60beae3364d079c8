"""What a process keeps after large buffers were freed between small ones."""

import subprocess
import sys

import pytest

# Results that glibc has learnt to take from its heap, between things that stay: freeing them would return nothing.
FRAGMENTS = """
import os
from benchmarks.processes import resident_mb
from handfast.gateway.process.process_memory import settle_memory
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
