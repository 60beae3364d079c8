"""The figures: one report object, rendered as JSON, as Markdown, and into the README's block."""

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from benchmarks.contenders import BYTES, DEFAULT, DIRECT, LABELS, LEAN, OFF, RELAY, SDK
from benchmarks.plan import BARE, WRAP, Case, Measured, Plan
from benchmarks.traffic import JUDGED, OPEN, least_bytes

_NONE = "–"  # noqa: RUF001 - a dash in a table, as in the README's others
LIMIT = 1.05  # CPU of what judges nothing, against the same gateway with the judging taken out
MARKS = ("<!-- bench:begin -->", "<!-- bench:end -->")


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One contender in front of the server on the official SDK."""

    contender: str
    added_p50_ms: float  # one client; direct: its own p50
    throughput: float  # calls per second of direct, 16 clients
    calls_per_s: float
    cpu_ms: float | None  # per call at 16 clients, of the contender's own process
    resident_mb: float | None
    start_s: float | None


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """What one way of running costs in front of a server that costs nothing, 16 clients."""

    contender: str
    tool: str
    cpu_us: float
    of_relay: float  # CPU per call against relay-only, the median of each round's own ratio
    spread: float
    calls_per_s: float


@dataclass(frozen=True, slots=True)
class SizeRow:
    """What the gateway adds at one client, by the size of the result."""

    tool: str
    result_bytes: int
    http_added_ms: float
    http_off_added_ms: float
    http_cpu_ms: float
    stdio_bare_ms: float
    stdio_added_ms: float
    stdio_cpu_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    measured_at: str
    machine: str
    python: str
    load_before: float  # what else the machine was doing: load average over one minute
    rounds: int
    seconds: float  # of each run; half of it, three times as often, for `judging`
    peers: list[PeerRow]
    judging: list[JudgingRow]
    sizes: list[SizeRow]

    @property
    def keeps_limit(self) -> bool:
        """Whether nothing judged costs nothing: mode off, and a tool without schemas in the default mode."""
        return all(
            row.of_relay <= LIMIT for row in self.judging if row.tool == OPEN and row.contender in (OFF, DEFAULT)
        )


def make_report(plan: Plan, measured: Measured, *, load_before: float) -> Report:
    return Report(
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        python=platform.python_version(),
        load_before=load_before,
        rounds=plan.rounds,
        seconds=plan.seconds,
        peers=[_peer(key, measured) for key in (DIRECT, DEFAULT, OFF, RELAY, *plan.peers)],
        judging=[_judging(case, measured) for case in plan.judging_cases()],
        sizes=[_size(tool, measured) for tool in plan.sizes],
    )


def _peer(key: str, measured: Measured) -> PeerRow:
    alone, many = Case(key, SDK, JUDGED, 1), Case(key, SDK, JUDGED, 16)
    direct_alone, direct_many = Case(DIRECT, SDK, JUDGED, 1), Case(DIRECT, SDK, JUDGED, 16)
    is_direct = key == DIRECT
    p50 = measured.median(alone, "p50_ms")
    return PeerRow(
        contender=key,
        added_p50_ms=p50 if is_direct else p50 - measured.median(direct_alone, "p50_ms"),
        throughput=measured.paired(many, direct_many, "calls_per_s"),
        calls_per_s=measured.median(many, "calls_per_s"),
        cpu_ms=None if is_direct else measured.median(many, "cpu_ms"),
        resident_mb=measured.resident_mb.get(key),
        start_s=measured.start_s.get(key),
    )


def _judging(case: Case, measured: Measured) -> JudgingRow:
    return JudgingRow(
        contender=case.contender,
        tool=case.tool,
        cpu_us=measured.median(case, "cpu_ms") * 1000,
        of_relay=measured.paired(case, Case(RELAY, LEAN, OPEN, 16), "cpu_ms"),
        spread=measured.spread(case, "cpu_ms"),
        calls_per_s=measured.median(case, "calls_per_s"),
    )


def _size(tool: str, measured: Measured) -> SizeRow:
    def http(key: str, name: str) -> float:
        return measured.median(Case(key, LEAN, tool, 1), name)

    def stdio(key: str, name: str) -> float:
        return float(statistics.median(outcome["tools"][tool][name] for outcome in measured.stdio[key]))

    return SizeRow(
        tool=tool,
        result_bytes=least_bytes(tool),
        http_added_ms=http(DEFAULT, "p50_ms") - http(DIRECT, "p50_ms"),
        http_off_added_ms=http(OFF, "p50_ms") - http(DIRECT, "p50_ms"),
        http_cpu_ms=http(DEFAULT, "cpu_ms"),
        stdio_bare_ms=stdio(BARE, "p50_ms"),
        stdio_added_ms=stdio(WRAP, "p50_ms") - stdio(BARE, "p50_ms"),
        stdio_cpu_ms=stdio(WRAP, "cpu_ms"),
    )


def render_json(report: Report) -> str:
    return json.dumps(asdict(report) | {"limit": LIMIT, "keeps_limit": report.keeps_limit}, indent=2)


def render_markdown(report: Report) -> str:
    parts = [_heading(report), _peer_table(report), _judging_table(report), _size_table(report)]
    return "\n\n".join(parts)


def _heading(report: Report) -> str:
    busy = f" Other work kept the machine busy (load {report.load_before:.1f})." if report.load_before >= 1 else ""
    return (
        f"{report.machine}, Python {report.python}, over loopback, {report.measured_at[:10]}; medians of"
        f" {report.rounds} interleaved rounds.{busy} In front of one server on the official SDK, with results of 1 KB:"
    )


def _peer_table(report: Report) -> str:
    lines = [
        "| in front of it | added p50, one client | calls/s of direct, 16 clients | CPU per call | memory | start |",
        "|---|---|---|---|---|---|",
    ]
    for row in report.peers:
        added = f"({_ms(row.added_p50_ms)} itself)" if row.contender == DIRECT else _ms(row.added_p50_ms)
        cells = [LABELS[row.contender], added, f"{row.throughput:.2g}", _ms(row.cpu_ms)]
        cells += [_unit(row.resident_mb, ".0f", "MB"), _unit(row.start_s, ".2f", "s")]
        lines.append(_line(cells))
    return "\n".join(lines)


def _judging_table(report: Report) -> str:
    lines = [
        "What judging costs, in front of a server that costs next to nothing, 16 clients:",
        "",
        "| gateway | tool | CPU per call | of relay-only | spread |",
        "|---|---|---|---|---|",
    ]
    for row in report.judging:
        if row.contender == DIRECT:
            continue
        kind = "no schemas" if row.tool == OPEN else "both schemas"
        kind = "any" if row.contender in (BYTES, RELAY, OFF) else kind
        of_relay = f"{row.of_relay:.2f}"
        lines.append(_line([LABELS[row.contender], kind, f"{row.cpu_us:.0f} µs", of_relay, f"±{row.spread:.0%}"]))
    return "\n".join(lines)


def _size_table(report: Report) -> str:
    lines = [
        "By the size of the result, one client; HTTP in front of the lean server, stdio in front of the SDK's:",
        "",
        "| result | `serve` adds | with modes off | CPU per call | `wrap` adds | bare stdio server | CPU per call |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report.sizes:
        http = (row.http_added_ms, row.http_off_added_ms, row.http_cpu_ms)
        times = (*http, row.stdio_added_ms, row.stdio_bare_ms, row.stdio_cpu_ms)
        lines.append(_line([_bytes(row.result_bytes), *map(_ms, times)]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ms(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:.0f} ms" if value >= 20 else f"{value:.1f} ms" if value >= 2 else f"{value:.2f} ms"


def _unit(value: float | None, form: str, unit: str) -> str:
    return _NONE if value is None else f"{value:{form}} {unit}"


def _bytes(count: int) -> str:
    return f"{count / 1_000_000:.0f} MB" if count >= 500_000 else f"{count / 1000:.0f} KB"
