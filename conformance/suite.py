"""Server scenarios: the suite as a client, of the server itself and of the gateway in front of it."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.checks import Findings, read_findings, require_sound
from conformance.exclusions import Exclusion, Upstream
from conformance.harness import choose, run_harness
from conformance.report import Result
from conformance.servers import direct_url, entry_of, gateway_url, running_direct, running_gateway

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")

Progress = Callable[[str], None]
_QUICKER_APART = 3


def carry_out(
    revisions: Sequence[str],
    upstreams: Sequence[Upstream],
    scenarios: Sequence[str] = (),
    *,
    exclusions: Sequence[Exclusion],
    progress: Progress = lambda _text: None,
) -> list[Result]:
    """One result for each revision and upstream; no scenarios means all of them. Raises: SuiteFailed."""
    results = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as name, running_direct(Path(name)) as direct:
        folder = Path(name)
        for revision, selected in select(revisions, scenarios).items():
            progress(f"{revision}, directly")
            by_itself = judge_directly(direct_url(direct), revision, selected, folder / f"{revision}-direct")
            direct.require_alive()
            require_sound(by_itself)
            for upstream in upstreams:
                progress(f"{revision}, behind handfast, {upstream}")
                with running_gateway(entry_of(upstream, direct), folder) as gateway:
                    through = judge(gateway_url(gateway), revision, selected, folder / f"{revision}-{upstream}")
                    gateway.require_alive()
                results.append(Result.of("server", revision, upstream, by_itself, through, exclusions))
    return results


def select(revisions: Sequence[str], scenarios: Sequence[str]) -> dict[str, list[str]]:
    """The scenarios to run at each revision; nothing named is everything, which the suite knows best itself."""
    return choose("server", revisions, scenarios) if scenarios else {revision: [] for revision in revisions}


def judge_directly(url: str, revision: str, scenarios: Sequence[str], results: Path) -> Findings:
    """The same of a server that is quick, of which the whole suite takes no longer than three scenarios by themselves.

    Raises: SuiteFailed.
    """
    if len(scenarios) <= _QUICKER_APART:
        return judge(url, revision, scenarios, results)
    return judge(url, revision, [], results).only(scenarios)


def judge(url: str, revision: str, scenarios: Sequence[str], results: Path) -> Findings:
    """What the suite finds at one address. Raises: SuiteFailed."""
    # The whole suite runs in one process, which is a lot faster than a process for each scenario.
    selections = [["--scenario", name] for name in scenarios] or [["--suite", "all"]]
    for selection in selections:
        run_harness("server", "--url", url, *selection, "--spec-version", revision, "-o", str(results))
    return read_findings(results)
