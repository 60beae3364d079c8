"""Driving official clients that answer questions: their steps are described in asking_client.py."""

import json
import subprocess
from pathlib import Path

from tests.contracts.rig import Json
from tests.parts import NODE, PYTHON

HERE = Path(__file__).parent
CLIENTS = {
    "py-legacy": [str(PYTHON), str(HERE / "asking_client.py"), "legacy"],
    "py-modern": [str(PYTHON), str(HERE / "asking_client.py"), "2026-07-28"],
    "py-auto": [str(PYTHON), str(HERE / "asking_client.py"), "auto"],
    "ts1": [str(NODE), str(HERE / "asking_client.mjs")],
}
LEGACY = ["py-legacy", "ts1"]


def drive(client: str, target: list[str], *steps: Json) -> list[Json]:
    done = subprocess.run(
        [*CLIENTS[client], *target], input=json.dumps(steps).encode(), capture_output=True, timeout=90, check=False
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(steps), done.stderr.decode()[-3000:]
    return [_plain(one) for one in found]


def _plain(found: Json) -> Json:
    """Without the members that one client adds and the other does not."""
    if isinstance(found, list):
        return [_plain(one) for one in found]
    if isinstance(found, dict):
        return {
            key: _plain(one) for key, one in found.items() if key not in ("resultType", "_meta") and one is not None
        }
    return found
