"""How `handfast activity` prints reports: tables, JSON, CSV."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import count
from typing import TextIO

from handfast.activity.chain import FIELDS
from handfast.activity.reports import Group, ListReport, RecordReport, SummaryReport, VerifyReport
from handfast.activity.store import StoredRecord
from handfast.cli.shared import console

COLUMNS = (*FIELDS, "seq")
CHAINED = (*COLUMNS, "previous", "hash")
_STATUS_COLOURS = {"success": "green", "error": "red", "warning": "yellow", "blocked": "red", "cancelled": "dim"}
_LABELS = {"status": "decision", "request_id": "request"}
_SHORT_ID = 16  # milliseconds and counter: unlike any other of its process, and `show` takes it

Format = str
JsonObject = dict[str, object]


def _object(stored: StoredRecord, columns: Sequence[str]) -> JsonObject:
    chain = {"seq": stored.seq, "previous": stored.previous, "hash": stored.hash}
    return {name: chain[name] if name in chain else getattr(stored.record, name) for name in columns}


def write_lines(records: Iterable[StoredRecord], columns: Sequence[str], kind: Format, out: TextIO) -> None:
    if kind != "csv":
        out.writelines(json.dumps(_object(stored, columns)) + "\n" for stored in records)
        return
    table = csv.writer(out)
    table.writerow(columns)
    table.writerows(_csv_row(stored, columns) for stored in records)


def _csv_row(stored: StoredRecord, columns: Sequence[str]) -> list[console.Cell]:
    cells = _object(stored, columns)
    cells["details"] = json.dumps(cells["details"])
    return [console.csv_cell(cell if isinstance(cell, int | float | None) else str(cell)) for cell in cells.values()]


def write_list(report: ListReport, kind: Format) -> None:
    if kind == "table":
        _write_table(report.records)
    elif kind == "json":
        console.write(json.dumps([_object(stored, COLUMNS) for stored in report.records], indent=2))
    else:
        write_lines(report.records, COLUMNS, kind, sys.stdout)


def write_watched(records: Sequence[StoredRecord], kind: Format) -> None:
    if kind == "csv":
        csv.writer(sys.stdout).writerows(_csv_row(stored, COLUMNS) for stored in records)
    elif kind == "table":
        for stored in records:
            console.write(_watch_line(stored))
    else:
        write_lines(records, COLUMNS, kind, sys.stdout)


def _watch_line(stored: StoredRecord) -> str:
    """One line outside any table: column widths would depend on records that are still to come."""
    record = stored.record
    where = "/".join(filter(None, (record.server, record.tool)))
    said = "  ".join(filter(None, (record.type, where, record.rule, _reason(stored))))
    start = f"{console.escape(_short_time(record.time))}  {record.status:<9}  "
    width = console.terminal_width()
    shown = console.escape(said)
    if width is not None:
        shown = console.cut(shown, max(20, width - len(start)))
    return start.replace(record.status, console.paint(record.status, _STATUS_COLOURS[record.status])) + shown


def _write_table(records: Sequence[StoredRecord]) -> None:
    if not records:
        return
    width = console.terminal_width()
    headers = ("ID", "TIME", "STATUS", "TYPE", "SERVER", "TOOL", "RULE", "MS", "REASON")
    id_length = None if width is None else _distinct_length([stored.record.id for stored in records])
    rows = [_table_row(stored, id_length) for stored in records]
    for line in console.render_table(headers, rows, width=width, colours={2: _STATUS_COLOURS}):
        console.write(line)


def _distinct_length(ids: Sequence[str]) -> int:
    """How much of each id is enough to tell it from the others."""
    return next(length for length in count(_SHORT_ID) if len({each[:length] for each in ids}) == len(set(ids)))


def _table_row(stored: StoredRecord, id_length: int | None) -> tuple[console.Cell, ...]:
    """In full without a length for ids."""
    record = stored.record
    shown_time = record.time if id_length is None else _short_time(record.time)
    where = (record.server, record.tool, record.rule)
    return (record.id[:id_length], shown_time, record.status, record.type, *where, record.duration_ms, _reason(stored))


def _reason(stored: StoredRecord) -> str:
    """The reason, or the code of the tool's error, whose text is not kept: it may quote what was sent."""
    record = stored.record
    return record.reason or str(record.details.get("code", ""))


def _short_time(text: str) -> str:
    return f"{text[5:10]} {text[11:19]}Z"


def write_record(report: RecordReport, kind: Format) -> None:
    if kind == "json":
        shown = _object(report.record, CHAINED)
        console.write(json.dumps(shown | {"related": [_object(s, CHAINED) for s in report.related]}, indent=2))
        return
    record = report.record.record
    pairs = [(_LABELS.get(name, name), getattr(record, name)) for name in _shown_fields()]
    pairs += [(f"details.{name}", json.dumps(value)) for name, value in record.details.items()]
    pairs += [("seq", report.record.seq), ("hash", report.record.hash)]
    width = max(len(console.escape(name)) for name, _ in pairs)
    for name, value in pairs:
        colour = _STATUS_COLOURS[record.status] if name == "decision" else ""
        lines = str(value).splitlines() if isinstance(value, str) else [value]
        for number, line in enumerate(lines or ["-"]):
            # A reason of several lines is shown as such, each below the first.
            label = "" if number else console.escape(name)
            console.write(f"{label:<{width}}  {console.paint(console.cell_text(line) or '-', colour)}")
    if report.related:
        console.write("\nOf the same request:")
        _write_table(report.related)


def _shown_fields() -> list[str]:
    """All fields but the details; the decision stands next to its rule."""
    names = [name for name in FIELDS if name not in ("status", "details")]
    names.insert(names.index("rule"), "status")
    return names


def write_summary(report: SummaryReport, kind: Format) -> None:
    if kind == "json":
        console.write(json.dumps(asdict(report), indent=2))
        return
    console.write(
        f"{report.count:,} records"
        + (console.escape(f", {report.first_time} to {report.last_time}") if report.count else "")
    )
    if report.p50_ms is not None:
        console.write(f"tool calls: p50 {report.p50_ms:.1f} ms, p95 {report.p95_ms:.1f} ms")
    for title in ("types", "statuses", "servers", "tools", "rules"):
        groups: tuple[Group, ...] = getattr(report, title)
        if groups:
            headers = (title.upper(), "COUNT", "P50 MS", "P95 MS")
            rows = [(group.name, group.count, group.p50_ms, group.p95_ms) for group in groups]
            console.write()
            for line in console.render_table(headers, rows, width=console.terminal_width()):
                console.write(line)


def write_verdict(report: VerifyReport, kind: Format) -> None:
    if kind == "json":
        console.write(json.dumps(asdict(report) | {"intact": report.is_intact}, indent=2))
        return
    if report.broken is not None:
        identity = f" ({report.broken.id})" if report.broken.id else ""
        verdict = f"broken at record {report.broken.seq}{identity}: {report.broken.problem}"
        console.write(f"{console.paint('broken', 'red')}{console.escape(verdict.removeprefix('broken'))}")
        console.write(f"{report.count:,} records before it hold")
        return
    console.write(f"{console.paint('intact', 'green')}: {report.count:,} records")
    if report.first_seq > 1:
        console.write(f"retention has removed the {report.first_seq - 1:,} before them, and the chain says so")
    if report.thinned:
        console.write(f"retention has removed {report.thinned:,} plain successes between them, and the chain says so")
    console.write(f"head: {report.head.hash} at record {report.head.seq}")
    if report.noted_seq is not None:
        console.write(f"the noted head is record {report.noted_seq}")
