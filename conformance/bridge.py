"""Across eras: the suite of one era, handfast, a server of the other era alone; compared with the server of both."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance.checks import require_sound
from conformance.exclusions import Exclusion, Upstream
from conformance.report import Result
from conformance.servers import direct_url, entry_of, gateway_url, running_direct, running_gateway
from conformance.suite import Progress, judge, judge_directly, select

MODERN = "2026-07-28"


def other_era_server(revision: str) -> tuple[str, str]:
    """The program that a client of this revision cannot talk to."""
    return "-m", "conformance.legacy_server" if revision == MODERN else "conformance.modern_server"


def carry_out_bridge(
    revisions: Sequence[str],
    upstreams: Sequence[Upstream],
    scenarios: Sequence[str] = (),
    *,
    exclusions: Sequence[Exclusion],
    progress: Progress = lambda _text: None,
) -> list[Result]:
    """One result for each revision of the client and upstream. Raises: SuiteFailed."""
    results = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as name, running_direct(Path(name)) as both_eras:
        folder = Path(name)
        for revision, selected in select(revisions, scenarios).items():
            progress(f"{revision}, directly")
            by_itself = judge_directly(direct_url(both_eras), revision, selected, folder / f"{revision}-direct")
            require_sound(by_itself)
            for upstream in upstreams:
                progress(f"{revision}, bridged, {upstream}")
                program = other_era_server(revision)
                with (
                    running_direct(folder, program) as other,
                    running_gateway(entry_of(upstream, other, program), folder) as gateway,
                ):
                    through = judge(gateway_url(gateway), revision, selected, folder / f"{revision}-{upstream}")
                    gateway.require_alive()
                results.append(Result.of("bridge", revision, upstream, by_itself, through, exclusions))
    return results
