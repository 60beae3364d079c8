"""Client scenarios: the suite as a server, and the SDK's client for it, directly and with the gateway in between."""

import shlex
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from conformance.checks import Check, Findings, Status, SuiteFailed, lost_checks, read_findings, require_sound
from conformance.exclusions import LeftOut
from conformance.harness import choose, known_scenarios, run_harness
from conformance.report import Result
from conformance.servers import PARTS, PYTHON
from conformance.suite import Progress

CLIENT_SUCCEEDS = "client-succeeds"  # a check of ours: the suite looks at what its server sees, not at how it ended
_CLIENT = ".github/actions/conformance/client.py"  # in mcp's source archive
_AT_ONCE = 2  # each scenario waits more than it works, and more at once would only run into its 30 s


def carry_out_clients(
    revisions: Sequence[str],
    scenarios: Sequence[str] = (),
    *,
    left_out: Sequence[LeftOut],
    progress: Progress = lambda _text: None,
) -> list[Result]:
    """One result for each revision; no scenarios means all that are not left out. Raises: SuiteFailed."""
    results = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        client = [str(PYTHON), str(_unpack_client(folder))]
        behind = [sys.executable, "-m", "conformance.client_behind", *client]
        for revision, (selected, missing) in _selected(revisions, scenarios, left_out).items():
            progress(f"{revision}, client, directly")
            by_itself = _drive(client, revision, selected, folder / f"{revision}-direct")
            require_sound(by_itself, "client")
            progress(f"{revision}, client, behind handfast")
            through = _drive(behind, revision, selected, folder / f"{revision}-behind")
            doubtful = {lost.check.scenario for lost in lost_checks(by_itself, through)}
            doubtful -= {name for name in doubtful if any(one.covers(revision, name) for one in left_out)}
            if doubtful:
                # The suite's servers wait 50 ms for what a client sends beside its calls; on a busy machine it can come
                # late once, with handfast or without. What handfast loses, it loses again.
                progress(f"{revision}, client, behind handfast, once more: {', '.join(sorted(doubtful))}")
                again = _drive(behind, revision, sorted(doubtful), folder / f"{revision}-again")
                through = through.updated(again)
            result = Result.of("client", revision, "http", by_itself, through, [])
            results.append(replace(_excuse(result, left_out), left_out=missing))
    return results


def _selected(
    revisions: Sequence[str], scenarios: Sequence[str], left_out: Sequence[LeftOut]
) -> dict[str, tuple[list[str], int]]:
    """The scenarios to run at each revision, and how many it has that are left out; what is named is never left out."""
    if scenarios:
        return {revision: (names, 0) for revision, names in choose("client", revisions, scenarios).items()}
    known = known_scenarios("client")
    selected = {}
    for revision in revisions:
        own = [name for name, belongs in known.items() if revision in belongs]
        kept = [name for name in own if not any(one.covers(revision, name) for one in left_out)]
        selected[revision] = (kept, len(own) - len(kept))
    return selected


def _drive(command: Sequence[str], revision: str, scenarios: Sequence[str], results: Path) -> Findings:
    """What the suite's servers saw of a client, and whether it ended well. Raises: SuiteFailed."""
    results.mkdir()
    starter = results / "client.sh"  # the suite takes a command apart at its spaces
    starter.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', "utf-8")
    starter.chmod(0o700)

    def run(scenario: str) -> tuple[Check, Status]:
        options = ("--command", str(starter), "--scenario", scenario, "--spec-version", revision, "-o", str(results))
        failed = "Client exited with code" in run_harness("client", *options)
        # No failure by itself: in some scenarios a client is right to give up.
        return Check(scenario, CLIENT_SUCCEEDS), Status.WARNING if failed else Status.SUCCESS

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        ends = dict(pool.map(run, scenarios))
    seen = read_findings(results, prefix="")
    return replace(seen, worst=seen.worst | ends)


def _excuse(result: Result, left_out: Sequence[LeftOut]) -> Result:
    """What is lost in a scenario that is left out is no news."""
    losses = []
    for loss in result.losses:
        reasons = [one.reason for one in left_out if one.covers(result.revision, loss.scenario)]
        losses.append(replace(loss, excluded=reasons[0]) if reasons else loss)
    return replace(result, losses=tuple(losses))


def _unpack_client(folder: Path) -> Path:
    """The client that the SDK is tested with, out of the archive that the lock holds to its hash."""
    archives = sorted((PARTS / "source").glob("mcp-*.tar.gz"))
    if not archives:
        raise SuiteFailed("the client is not installed; run scripts/parts")
    with tarfile.open(archives[-1]) as archive:
        member = archive.extractfile(f"{archives[-1].name.removesuffix('.tar.gz')}/{_CLIENT}")
        if member is None:
            raise SuiteFailed("the source archive of mcp has no conformance client")
        client = folder / "client.py"
        client.write_bytes(member.read())
    return client
