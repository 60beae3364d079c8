"""scripts/conformance: the official MCP suite, directly and behind handfast; exit 0 when no check is lost."""

import argparse
import sys
import time
from collections.abc import Sequence

from conformance.bridge import carry_out_bridge
from conformance.checks import SuiteFailed
from conformance.client_suite import carry_out_clients
from conformance.exclusions import UPSTREAMS, read_exclusions, read_left_out
from conformance.report import LEGS, Leg, Result, render_json, render_tables, write_block
from conformance.servers import ROOT
from conformance.suite import REVISIONS, Progress, carry_out

PAGE = ROOT / "docs" / "conformance.md"
_BROKEN = 2  # the run says nothing about the gateway, neither good nor bad


def read_command_line(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument(
        "--revision", nargs="+", choices=REVISIONS, default=REVISIONS, metavar="REV", help="of the protocol"
    )
    parser.add_argument(
        "--upstream", choices=UPSTREAMS, help="what handfast stands in front of (default: both in turn)"
    )
    parser.add_argument(
        "--scenario", nargs="+", default=[], metavar="NAME", help="only these (default: the whole suite)"
    )
    legs = parser.add_mutually_exclusive_group()
    legs.add_argument("--server", action="store_true", help="only the server scenarios, the server of the same era")
    legs.add_argument("--client", action="store_true", help="only the client scenarios")
    legs.add_argument(
        "--bridge", action="store_true", help="only the server scenarios in front of a server of the other era"
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument(
        "--write", action="store_true", help="also put the tables into docs/conformance.md (whole runs)"
    )
    options = parser.parse_args(arguments)
    narrowed = options.scenario or options.upstream or options.revision is not REVISIONS
    if options.write and (narrowed or options.server or options.client or options.bridge):
        parser.error("--write needs a whole run: leave out what narrows it")
    if (options.scenario or options.upstream) and not (options.client or options.bridge):
        options.server = True  # both are about server scenarios, unless it is said otherwise
    return options


def legs_of(options: argparse.Namespace) -> Sequence[Leg]:
    """The one that was asked for, or all of them."""
    return [leg for leg in LEGS if getattr(options, leg)] or LEGS


def run_legs(options: argparse.Namespace, progress: Progress) -> list[Result]:
    """Raises: SuiteFailed, or ValueError for exclusions that cannot be read."""
    revisions, scenarios = options.revision, options.scenario
    upstreams = (options.upstream,) if options.upstream else UPSTREAMS
    exclusions = read_exclusions()
    legs = legs_of(options)
    results: list[Result] = []
    if "server" in legs:
        results += carry_out(revisions, upstreams, scenarios, exclusions=exclusions, progress=progress)
    if "client" in legs:
        results += carry_out_clients(revisions, scenarios, left_out=read_left_out(), progress=progress)
    if "bridge" in legs:
        results += carry_out_bridge(revisions, upstreams, scenarios, exclusions=exclusions, progress=progress)
    return results


class ProgressLine:
    """One line on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        self._show(f"{time.monotonic() - self._began:4.0f} s  {text}")

    def clear(self) -> None:
        self._show("")

    def _show(self, text: str) -> None:
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def main() -> int:
    options = read_command_line()
    progress = ProgressLine()
    try:
        results = run_legs(options, progress)
        if options.write:
            write_block(PAGE, render_tables(results))
    except (SuiteFailed, ValueError, OSError) as problem:
        progress.clear()
        sys.stderr.write(f"conformance: {problem}\n")
        return _BROKEN
    except KeyboardInterrupt:
        progress.clear()
        return 130
    progress.clear()
    sys.stdout.write((render_json(results) if options.output == "json" else render_tables(results)) + "\n")
    return 0 if all(result.is_kept for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
