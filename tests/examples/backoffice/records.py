"""What the back office put on record, read with handfast's own command."""

import json
import subprocess
from pathlib import Path

from tests.demo import HANDFAST
from tests.examples.backoffice.offices import Json


def read_records(state: Path, *filters: str) -> list[Json]:
    """Oldest first."""
    listed = _handfast("activity", "list", "--state", str(state), "--limit", "1000", "-o", "json", *filters)
    assert listed.returncode == 0, listed.stderr
    records: list[Json] = json.loads(listed.stdout)
    return records[::-1]


def require_whole_chain(state: Path) -> None:
    assert _handfast("activity", "verify", "--state", str(state)).returncode == 0


def _handfast(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([HANDFAST, *arguments], capture_output=True, text=True, timeout=60, check=False)
