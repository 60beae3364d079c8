"""The doctor's report as text: a table of the tools, then the findings, errors first."""

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from django.core.management.color import Style

from handfast.django.checks.catalogue import CheckFinding
from handfast.django.inspect.doctor import Diagnosis, SeenTool, whole_tool

_GAP: Final = "  "
_NARROWEST: Final = 30  # the last column is wrapped, but never into single words
_WORDS: Final = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}


def render_report(diagnosis: Diagnosis, style: Style, width: int | None = None) -> Iterator[str]:
    """The report, line by line; `width` is that of the terminal, None where nothing is wrapped."""
    yield f"MCP endpoint: {', '.join(diagnosis.endpoints) or 'nowhere'}"
    yield ""
    if diagnosis.tools:
        yield from _table(diagnosis.tools, style, width)
        behind = f", and {len(diagnosis.hidden)} behind dispatchers" if diagnosis.hidden else ""
        yield f"{_counted(len(diagnosis.tools), 'tool', 'tools')}{behind}; * must be sent"
    else:
        yield style.WARNING("No tools: an agent would see nothing.")
    yield ""
    yield from _findings(diagnosis.findings, style)
    yield _verdict(diagnosis, style)


def tool_report(seen: SeenTool, findings: Iterable[CheckFinding], style: Style) -> Iterator[str]:
    """One tool in full, and the findings about its view and its serializers."""
    whole = whole_tool(seen)
    yield style.MIGRATE_HEADING(seen.name)
    yield from textwrap.wrap(whole["description"], 100)
    yield ""
    yield f"kind         {seen.kind}"
    yield f"call         {seen.call}"
    yield f"view         {whole['view'] or '-'}"
    yield f"permissions  {_permissions(seen)}"
    yield f"result       {seen.result}"
    hints = ", ".join(name for name, is_set in whole["annotations"].items() if is_set is True)
    yield f"annotations  {hints or 'none'}"
    for title, schema in (("arguments", whole["inputSchema"]), ("result", whole["outputSchema"])):
        yield ""
        yield style.MIGRATE_HEADING(title)
        yield json.dumps(schema, indent=2, ensure_ascii=False)
    yield ""
    yield from _findings(findings, style)


def _table(tools: Iterable[SeenTool], style: Style, width: int | None) -> Iterator[str]:
    head = ("tool", "kind", "result", "call", "permissions")
    rows = [(one.name, one.kind, one.result, one.call, _permissions(one)) for one in tools]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    taken = sum(widths) + len(_GAP) * len(widths)
    room = None if width is None else max(width - taken, _NARROWEST)
    yield style.MIGRATE_HEADING(_line((*head, "arguments"), widths))
    for row, one in zip(rows, tools, strict=True):
        arguments = ", ".join(f"{each.name}{'*' if each.is_required else ''}" for each in one.arguments) or "-"
        first, *further = [arguments] if room is None else textwrap.wrap(arguments, room)
        yield _line((*row, first), widths)
        yield from (" " * taken + text for text in further)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False))
    return _GAP.join((*padded, cells[-1])).rstrip()


def _permissions(seen: SeenTool) -> str:
    if seen.permissions is None:
        return "-" if seen.tool is None else "?"
    return ", ".join(seen.permissions) or "none"


def _findings(findings: Iterable[CheckFinding], style: Style) -> Iterator[str]:
    for one in findings:
        title = f"{_WORDS[one.level][0]} {one.id}"
        paint = {"error": style.ERROR, "warning": style.WARNING}.get(one.level)
        yield f"{paint(title) if paint else title}  {one.where}"
        yield f"  {one.message}"
        yield f"  {one.hint}"
        yield ""


def _verdict(diagnosis: Diagnosis, style: Style) -> str:
    counts = [_counted(count, *words) for level, words in _WORDS.items() if (count := diagnosis.count(level))]
    said = ", ".join(counts) or "nothing is wrong"
    hidden = f" ({diagnosis.silenced} silenced)" if diagnosis.silenced else ""
    paint = style.ERROR if diagnosis.count("error") else style.WARNING if diagnosis.count("warning") else style.SUCCESS
    return paint(f"{said}{hidden}")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
