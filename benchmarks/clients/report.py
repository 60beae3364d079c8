"""The table of clients, and the same as JSON."""

import json
from collections.abc import Sequence

from benchmarks.clients.hold import ROUTES, Held

_ROUTE_NAMES = ("at `/mcp/<server>`", "at `/mcp`", "through `wrap`")


def render_table(found: Sequence[Held]) -> str:
    head = ("client", "version", "revision", *_ROUTE_NAMES, "has no way for", "did not hold")
    rows = [_cells(held) for held in found]
    return "\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)])


def _cells(held: Held) -> list[str]:
    if held.not_run:
        return [held.title, held.version or "\u2013", *["\u2013"] * (len(ROUTES) + 2), "could not be run"]
    problems: dict[str, list[str]] = {}
    for route, problem in held.problems:
        problems.setdefault(route, []).append(problem.step)
    failed = "; ".join(f"{route}: {', '.join(dict.fromkeys(steps))}" for route, steps in problems.items())
    ways = [_count(held, route) for route in ROUTES]
    cannot = ", ".join(held.cannot)
    cells = [held.title, held.version, ", ".join(held.revisions), *ways, cannot, failed]
    return [cell or "\u2013" for cell in cells]


def _count(held: Held, route: str) -> str:
    return f"{held.ways[route].held} of {held.ways[route].steps}" if route in held.ways else ""


def render_json(found: Sequence[Held]) -> str:
    rows = [
        {
            "client": held.title,
            "version": held.version,
            "revisions": held.revisions,
            "routes": {route: {"held": way.held, "steps": way.steps} for route, way in held.ways.items()},
            "has_no_way_for": held.cannot,
            "not_run": held.not_run,
            "problems": [
                {"route": route, "step": problem.step, "detail": problem.detail} for route, problem in held.problems
            ],
        }
        for held in found
    ]
    return json.dumps(rows, ensure_ascii=False)


def complaints(found: Sequence[Held]) -> list[str]:
    """A line for everything that did not hold."""
    lines = [held.not_run for held in found if held.not_run]
    return lines + [
        f"{held.title}, {route}: {problem.step}: {problem.detail}" for held in found for route, problem in held.problems
    ]
