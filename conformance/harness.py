"""The official suite as a command: which scenarios it has, and running it."""

import difflib
import re
import subprocess
from collections.abc import Sequence
from typing import Literal

from conformance.checks import SuiteFailed
from conformance.servers import PARTS, ROOT

Role = Literal["server", "client"]  # what the suite tests: the scenarios of the two are different ones

_NODE = PARTS / "node" / "node"
_HARNESS = PARTS / "node" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_SUITE_SECONDS = 300.0  # a whole revision over stdio takes half a minute; each scenario has its own limit of 30 s


def run_harness(*arguments: str) -> str:
    """What it printed; its exit code only says that checks failed, which the result files say better.

    Raises: SuiteFailed.
    """
    try:
        done = subprocess.run(
            [_NODE, _HARNESS, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SUITE_SECONDS,
            check=False,
            cwd=ROOT,
        )
    except FileNotFoundError:
        raise SuiteFailed("the suite is not installed; run scripts/parts") from None
    except subprocess.TimeoutExpired:
        raise SuiteFailed(f"the suite did not end within {_SUITE_SECONDS:g} s") from None
    return done.stdout


def known_scenarios(role: Role) -> dict[str, list[str]]:
    """The suite's scenarios, each with the revisions it belongs to. Raises: SuiteFailed."""
    found = re.findall(r"^  - (\S+) \[(.*)\]$", run_harness("list", f"--{role}"), re.MULTILINE)
    if not found:
        raise SuiteFailed("the suite lists no scenarios")
    return {name: revisions.split(",") for name, revisions in found}


def choose(role: Role, revisions: Sequence[str], scenarios: Sequence[str]) -> dict[str, list[str]]:
    """Which of the named scenarios belong to each revision; a revision without any is left out. Raises: SuiteFailed."""
    known = known_scenarios(role)
    unknown = sorted(set(scenarios) - set(known))
    if unknown:
        close = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"; perhaps {close[0]}" if close else ""
        raise SuiteFailed(f"there is no scenario named {', '.join(unknown)}{hint}")
    chosen = {revision: [name for name in scenarios if revision in known[name]] for revision in revisions}
    if not any(chosen.values()):
        raise SuiteFailed("none of these scenarios belongs to these revisions")
    return {revision: names for revision, names in chosen.items() if names}
