"""Reports about empty rows: text for people, JSON for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from handfast.django.empty_rows.emptiness import Unsearchable
from handfast.django.empty_rows.removal import Removed
from handfast.django.empty_rows.search import EmptyRow, Found

Json = dict[str, Any]  # Any: JSON, and values that Django's encoder makes JSON of


def report_rows(found: Sequence[Found], left_out: Sequence[Unsearchable]) -> Iterator[str]:
    for one in found:
        yield from _of_model(one)
    for other in left_out:
        yield f"{other.label}: not searched, {other.why}"


def _of_model(found: Found) -> Iterator[str]:
    rule = found.emptiness
    yield f"{rule.label} ({', '.join(rule.tools)}): {found.total} empty {'row' if found.total == 1 else 'rows'}"
    if not found.rows:
        return
    if rule.is_doubtful:
        yield "  doubtful: one can be made without any value, so they may be intended"
    if rule.not_judged:
        yield "  not judged: " + ", ".join(f"{one.name} ({one.why})" for one in rule.not_judged)
    for row in found.rows:
        yield f"  {row.pk}{_about(row)}"
    if len(found.rows) < found.total:
        yield f"  and {found.total - len(found.rows)} more: see them with --limit 0"


def _about(row: EmptyRow) -> str:
    made = [] if row.created is None else [f"made {row.created:%Y-%m-%d %H:%M}"]
    rest = [f"{name}={value}" for name, value in row.rest.items()]
    pointing = [f"{one.count} {one.label} {one.fate}" for one in row.pointing]
    shown = "; ".join([*made, *([" ".join(rest)] if rest else []), *pointing])
    return f"  {shown}" if shown else ""


def as_json(found: Sequence[Found], left_out: Sequence[Unsearchable], removed: Removed | None = None) -> Json:
    return {
        "models": [_model_as_json(one) for one in found],
        "not_searched": [{"model": one.label, "tools": list(one.tools), "why": one.why} for one in left_out],
        "deleted": None if removed is None else {"rows": removed.rows, "with_them": removed.with_them},
    }


def _model_as_json(found: Found) -> Json:
    rule = found.emptiness
    return {
        "model": rule.label,
        "tools": list(rule.tools),
        "doubtful": rule.is_doubtful,
        "not_judged": [{"field": one.name, "why": one.why} for one in rule.not_judged],
        "total": found.total,
        "rows": [
            {
                "pk": row.pk,
                "created": row.created,
                "pointing": [{"by": one.label, "count": one.count, "fate": one.fate} for one in row.pointing],
                "rest": row.rest,
            }
            for row in found.rows
        ],
    }


def removal_report(removed: Removed) -> Iterator[str]:
    for label, count in removed.rows.items():
        yield f"deleted: {count} of {label}"
    for label, count in removed.with_them.items():
        yield f"deleted with them: {count} of {label}"
