"""`handfast activity`: read, follow, count, export and verify the history."""

import argparse
import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TextIO, TypeVar

from handfast.activity.state_folder import state_folder
from handfast.cli.shared import console
from handfast.cli.shared.options import utf8_text

if TYPE_CHECKING:  # at run time imported by the commands, so that --help stays fast
    from handfast.activity.query import RecordFilter
    from handfast.activity.store import ActivityStore, StoredRecord

_POLL_S = 0.25
Choice = TypeVar("Choice", bound=StrEnum)

_TABLE_ROWS = 50


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("activity", help="read, follow, count, export and verify the history")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    shown = f"{_TABLE_ROWS} in a table, all in other formats"
    listing = _command(commands, "list", _list, "records, newest first", filters=True, by_default=shown)
    _format_flag(listing, "table", "json", "jsonl", "csv")
    show = _command(commands, "show", _show, "one record and those of the same request")
    show.add_argument(
        "id", type=utf8_text, help="the record's id, or as much of it as is unique; or the id of a request"
    )
    _format_flag(show, "table", "json")
    watch = _command(commands, "watch", _watch, "records as they are written; Ctrl-C ends", filters=True)
    _format_flag(watch, "table", "json", "jsonl", "csv")
    summary = _command(commands, "summary", _summary, "counts and durations", filters=True)
    _format_flag(summary, "table", "json")
    export = _command(commands, "export", _export, "everything with its hashes, oldest first", filters=True)
    _format_flag(export, "jsonl", "csv")
    export.add_argument("--output", metavar="FILE", help="write to this file instead of stdout")
    verify = _command(commands, "verify", _verify, "walk the chain and name the first broken record")
    verify.add_argument("--head", metavar="HASH", default="", help="a head noted elsewhere that must be in the chain")
    _format_flag(verify, "table", "json")


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    body: Callable[[argparse.Namespace], int],
    about: str,
    *,
    filters: bool = False,
    by_default: str = "all",
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=about, description=f"{about[:1].upper()}{about[1:]}.")
    parser.add_argument("--state", metavar="DIR", help="the state folder (default: HANDFAST_STATE, or the platform's)")
    if filters:
        parser.add_argument("--type", action="append", default=[], metavar="TYPE[,TYPE]", help="only these types")
        parser.add_argument("--status", action="append", default=[], metavar="STATUS[,STATUS]", help="only these")
        parser.add_argument("--server", default="", help="only this server")
        parser.add_argument("--tool", default="", help="only this tool")
        parser.add_argument("--rule", default="", help="only this rule")
        parser.add_argument("--request", metavar="ID", default="", help="only this request: a call and its decisions")
        parser.add_argument("--since", metavar="TIME", help="from this time on: 15m, 2h, 7d, or ISO 8601 in UTC")
        parser.add_argument("--until", metavar="TIME", help="before this time")
        parser.add_argument("--limit", metavar="N", help=f"at most this many (default: {by_default})")
    parser.set_defaults(run=partial(_run, body))
    return parser


def _format_flag(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument("-o", "--format", default=formats[0], metavar="|".join(formats), help="how to print it")
    parser.set_defaults(formats=formats)


def _run(body: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    from handfast.activity.store import StoreError

    def guarded() -> int:
        if args.format not in args.formats:
            raise console.CommandFailed(f"-o takes one of: {', '.join(args.formats)}.", 2)
        try:
            return body(args)
        except StoreError as error:
            raise console.CommandFailed(str(error)) from error

    return console.run_command(guarded)


def _list(args: argparse.Namespace) -> int:
    from handfast.activity.reports import ListReport, list_records
    from handfast.cli.activity_views import write_list

    wanted = _filter(args)
    if wanted.limit is None and args.format == "table":
        # A person reads the newest; a program would not notice that it gets fewer than there are.
        wanted = replace(wanted, limit=_TABLE_ROWS)
    with _store(args) as store:
        report = list_records(store, wanted) if store else ListReport((), has_more=False)
    write_list(report, args.format)
    if report.has_more and sys.stderr.isatty():
        console.print_hint(f"These are the newest {wanted.limit}; --limit shows more.")
    return 0


def _show(args: argparse.Namespace) -> int:
    from handfast.activity.reports import show_record
    from handfast.cli.activity_views import write_record

    with _store(args) as store:
        if store is None:
            return 1
        report = show_record(store, args.id)
    write_record(report, args.format)
    return 0


def _watch(args: argparse.Namespace) -> int:
    from handfast.cli.activity_views import write_watched

    wanted = _filter(args)
    try:
        left = wanted.limit
        for batch in _batches(args, wanted):
            shown = batch if left is None else batch[:left]
            write_watched(shown, args.format)
            sys.stdout.flush()
            left = None if left is None else left - len(shown)
            if left == 0:
                break
    except KeyboardInterrupt:  # the way to end it, so not a failure
        return 0
    return 0


def _batches(args: argparse.Namespace, wanted: "RecordFilter") -> Iterator[list["StoredRecord"]]:
    """Yields the records that were committed since the last look, without end."""
    is_fresh = False
    while True:
        with _store(args, hint=not is_fresh) as store:
            if store is not None:
                # A store that has just appeared is followed from its first record, as is any store with --since.
                seq = 0 if is_fresh or wanted.since else store.head().seq
                while True:
                    found, seq = store.follow(seq, wanted)
                    if found:
                        yield found
                    else:
                        time.sleep(_POLL_S)
        is_fresh = True
        time.sleep(_POLL_S)


def _summary(args: argparse.Namespace) -> int:
    from handfast.activity.reports import SummaryReport, summarise
    from handfast.cli.activity_views import write_summary

    wanted = _filter(args)
    progress = console.Progress("counting")
    with _store(args) as store:
        if store is None:
            report = SummaryReport(0, "", "", None, None, (), (), (), (), ())
        else:
            report = summarise(store, wanted, on_progress=progress)
    progress.clear()
    write_summary(report, args.format)
    return 0


def _export(args: argparse.Namespace) -> int:
    from handfast.cli.activity_views import CHAINED, write_lines

    wanted = _filter(args)
    progress = console.Progress("exporting")
    with _store(args) as store, _destination(args.output) as out:
        records = store.query(wanted, oldest_first=True) if store else iter(())
        write_lines(_counted(records, progress), CHAINED, args.format, out)
    progress.clear()
    return 0


def _verify(args: argparse.Namespace) -> int:
    from handfast.activity.reports import verify
    from handfast.activity.store import StoreMissing, open_store
    from handfast.cli.activity_views import write_verdict

    progress = console.Progress("verifying")
    try:
        store = open_store(state_folder(args.state), read_only=True)
    except StoreMissing as missing:
        if missing.empty_file is not None:
            why = "so nothing can be verified. Once records are written to it, it is a history."
            raise console.CommandFailed(f"{missing.empty_file} is empty, {why}") from None
        # Not a success: a history that was deleted looks the same.
        why = "it has no history. --state names another folder."
        raise console.CommandFailed(f"There is nothing to verify in {state_folder(args.state)}: {why}") from None
    with closing(store):
        report = verify(store, noted=args.head.strip().lower(), on_progress=progress)
    progress.clear()
    write_verdict(report, args.format)
    return 0 if report.is_intact else 1


@contextmanager
def _store(args: argparse.Namespace, *, hint: bool = True) -> Iterator["ActivityStore | None"]:
    """The store to read from; None, with a hint, where nothing has been recorded yet."""
    from handfast.activity.store import StoreMissing, open_store

    folder = state_folder(args.state)
    try:
        store = open_store(folder, read_only=True)
    except StoreMissing:
        if hint:
            console.print_hint(f"No activity has been recorded in {folder} yet; --state names another folder.")
        yield None
        return
    with closing(store):
        yield store


@contextmanager
def _destination(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        # Without O_NONBLOCK, opening a named pipe that nothing reads would wait without end.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags, 0o600)
        os.set_blocking(descriptor, True)
        with open(descriptor, "w", encoding="utf-8", newline="") as out:
            yield out
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise console.CommandFailed("The export could not be written: nothing reads from this pipe.") from error
        raise console.CommandFailed(f"The export could not be written: {error.strerror or error}.") from error


def _filter(args: argparse.Namespace) -> "RecordFilter":
    from handfast.activity.query import RecordFilter
    from handfast.core.call.exchange import RecordType, Status

    return RecordFilter(
        types=_choices("--type", args.type, RecordType),
        statuses=_choices("--status", args.status, Status),
        server=args.server,
        tool=args.tool,
        rule=args.rule,
        request_id=args.request,
        since=_time("--since", args.since),
        until=_time("--until", args.until),
        limit=_count("--limit", args.limit),
    )


def _choices(flag: str, given: Sequence[str], kind: type[Choice]) -> tuple[Choice, ...]:
    names = [name.strip() for text in given for name in text.split(",")]
    try:
        return tuple(kind(name) for name in names)
    except ValueError:
        raise console.CommandFailed(f"{flag} takes any of: {', '.join(kind)}.", 2) from None


def _time(flag: str, text: str | None) -> str:
    from handfast.activity.query import parse_time

    try:
        return parse_time(text, now=datetime.now(UTC)) if text else ""
    except ValueError as error:
        raise console.CommandFailed(f"{flag} {error}.", 2) from None


def _count(flag: str, text: str | int | None) -> int | None:
    if text is None or isinstance(text, int):
        return text
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < 1:
        raise console.CommandFailed(f"{flag} takes a whole number from 1 on.", 2)
    return int(text)


def _counted(records: Iterable["StoredRecord"], progress: console.Progress) -> Iterator["StoredRecord"]:
    for count, stored in enumerate(records, 1):
        yield stored
        progress(count)
