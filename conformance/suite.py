"""Running the official suite: every scenario of a revision, directly and through the gateway."""

import difflib
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.checks import Findings, SuiteFailed, read_findings, require_sound
from conformance.exclusions import Exclusion, Upstream
from conformance.report import Result
from conformance.servers import PARTS, direct_url, gateway_url, running_direct, running_gateway

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
_NODE = PARTS / "node" / "node"
_HARNESS = PARTS / "node" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_SUITE_SECONDS = 300.0  # a whole revision over stdio takes half a minute; each scenario has its own limit of 30 s

Progress = Callable[[str], None]


def carry_out(
    revisions: Sequence[str],
    upstreams: Sequence[Upstream],
    scenarios: Sequence[str] = (),
    *,
    exclusions: Sequence[Exclusion],
    progress: Progress = lambda _text: None,
) -> list[Result]:
    """One result for each revision and upstream; no scenarios means all of them. Raises: SuiteFailed."""
    chosen = _chosen(revisions, scenarios)
    results = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as name, running_direct(Path(name)) as direct:
        folder = Path(name)
        for revision, selected in chosen.items():
            progress(f"{revision}, directly")
            by_itself = judge(direct_url(direct), revision, selected, folder / f"{revision}-direct")
            direct.require_alive()
            require_sound(by_itself)
            for upstream in upstreams:
                progress(f"{revision}, behind handfast, {upstream}")
                with running_gateway(upstream, direct, folder) as gateway:
                    through = judge(gateway_url(gateway), revision, selected, folder / f"{revision}-{upstream}")
                    gateway.require_alive()
                results.append(Result.of(revision, upstream, by_itself, through, exclusions))
    return results


def judge(url: str, revision: str, scenarios: Sequence[str], results: Path) -> Findings:
    """What the suite finds at one address. Raises: SuiteFailed."""
    # The whole suite runs in one process, which is a lot faster than a process for each scenario.
    selections = [["--scenario", name] for name in scenarios] or [["--suite", "all"]]
    for selection in selections:
        _harness("server", "--url", url, *selection, "--spec-version", revision, "-o", str(results))
    return read_findings(results)


def known_scenarios() -> dict[str, list[str]]:
    """The suite's server scenarios, each with the revisions it belongs to. Raises: SuiteFailed."""
    listed = _harness("list").partition("Client scenarios")[0]
    found = re.findall(r"^  - (\S+) \[(.*)\]$", listed, re.MULTILINE)
    if not found:
        raise SuiteFailed("the suite lists no scenarios")
    return {name: revisions.split(",") for name, revisions in found}


def _chosen(revisions: Sequence[str], scenarios: Sequence[str]) -> dict[str, list[str]]:
    """Which of the scenarios to run at each revision; nothing named at all is everything."""
    if not scenarios:
        return {revision: [] for revision in revisions}
    known = known_scenarios()
    unknown = sorted(set(scenarios) - set(known))
    if unknown:
        close = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"; perhaps {close[0]}" if close else ""
        raise SuiteFailed(f"there is no scenario named {', '.join(unknown)}{hint}")
    chosen = {revision: [name for name in scenarios if revision in known[name]] for revision in revisions}
    if not any(chosen.values()):
        raise SuiteFailed("none of these scenarios belongs to these revisions")
    return {revision: names for revision, names in chosen.items() if names}


def _harness(*arguments: str) -> str:
    """What it printed. Its exit code says that checks failed, which the result files say better."""
    try:
        done = subprocess.run(
            [_NODE, _HARNESS, *arguments], capture_output=True, text=True, timeout=_SUITE_SECONDS, check=False
        )
    except FileNotFoundError:
        raise SuiteFailed("the suite is not installed; run scripts/parts") from None
    except subprocess.TimeoutExpired:
        raise SuiteFailed(f"the suite did not end within {_SUITE_SECONDS:g} s") from None
    return done.stdout
