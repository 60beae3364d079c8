"""scripts/clients: a session of each of thirteen client libraries, through the gateway and beside it, as a table."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.clients.hold import Held, hold
from benchmarks.clients.install import install, install_parts
from benchmarks.clients.report import complaints, render_json, render_table
from benchmarks.clients.roster import CLIENTS, Client
from benchmarks.clients.stage import Stage, staged
from benchmarks.marked_block import BlockMissing, write_block
from benchmarks.processes import ROOT, BenchFailed

PAGE = ROOT / "docs" / "clients.md"
MARKS = ("<!-- clients:begin -->", "<!-- clients:end -->")


def main(arguments: Sequence[str] | None = None) -> int:
    options = read_options(arguments)
    chosen = [client for client in CLIENTS if client.name in (options.only or [client.name])]
    folder = Path(tempfile.mkdtemp(prefix="handfast-clients-"))
    keeps = False
    try:
        found = hold_all(chosen, folder)
        keeps = any(held.version and not held.is_good for held in found)
        print(render_json(found) if options.output == "json" else render_table(found))
        for line in complaints(found):
            print(f"clients: {line}", file=sys.stderr)
        if options.write:
            write_table(found)
    except (BenchFailed, BlockMissing) as problem:
        print(f"clients: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if keeps:
            print(f"clients: what clients and servers said is in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(held.is_good for held in found) else 1


def hold_all(chosen: Sequence[Client], folder: Path) -> list[Held]:
    """Raises: BenchFailed, when there is nothing to hold sessions with."""
    install_parts()
    found: dict[str, Held] = {}
    versions = {client.name: try_install(client, found) for client in chosen}
    with staged(folder) as stage:
        for client in chosen:
            if client.name not in found:
                found[client.name] = try_hold(stage, client, versions[client.name])
    return [found[client.name] for client in chosen]


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/clients", description=__doc__)
    names = [client.name for client in CLIENTS]
    parser.add_argument(
        "--only",
        action="append",
        choices=names,
        metavar="NAME",
        help=f"one client; may be repeated: {', '.join(names)}",
    )
    parser.add_argument("--write", action="store_true", help="also put the table into docs/clients.md")
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown", help="default: %(default)s")
    options = parser.parse_args(arguments)
    if options.only and options.write:
        parser.error("--write puts the whole table into the page: leave out --only")
    return options


def try_install(client: Client, found: dict[str, Held]) -> str:
    """Its version; nothing if it cannot be installed, which is then among what was found."""
    try:
        return install(client)
    except BenchFailed as problem:
        found[client.name] = Held(client.title, not_run=str(problem))
        return ""


def try_hold(stage: Stage, client: Client, version: str) -> Held:
    began = time.monotonic()
    try:
        held = hold(stage, client, version)
    except BenchFailed as problem:
        held = Held(client.title, version, not_run=str(problem))
    outcome = held.not_run or (f"{len(held.problems)} steps did not hold" if held.problems else "held")
    print(
        f"clients: {client.title} {version}: {outcome} ({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True
    )
    return held


def write_table(found: Sequence[Held]) -> None:
    """Raises: BenchFailed, BlockMissing."""
    if missing := [held.title for held in found if held.not_run]:
        raise BenchFailed(f"the page is left as it was, without {', '.join(missing)}.")
    write_block(PAGE, render_table(found), MARKS)


if __name__ == "__main__":
    sys.exit(main())
