"""One client's sessions, with the gateway and without, held by its driver; and what did not hold of them."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks.clients.install import FOLDER, PYTHON
from benchmarks.clients.roster import Client
from benchmarks.clients.session import (
    Json,
    Problem,
    Step,
    compared,
    differences,
    is_unsupported,
    steps_with,
    troubles,
)
from benchmarks.clients.stage import Stage
from benchmarks.processes import ROOT, BenchFailed

DIRECT, OWN, ALL, WRAP = "directly", "at /mcp/<server>", "at /mcp", "through wrap"
ROUTES = (OWN, ALL, WRAP)
_DRIVERS = ROOT / "benchmarks" / "clients" / "drivers"
_CLIENT_SECONDS = 600.0  # for all sessions; each has a bound of its own in the driver
Target = str | list[str]


@dataclass(frozen=True, slots=True)
class Planned:
    """A session to be held."""

    target: Target
    steps: Sequence[Step]
    route: str = DIRECT
    prefixes: Mapping[str, str] = field(default_factory=dict)  # of the servers' names
    over: str = "http"  # which of the two direct sessions it is compared with

    def as_sent(self, mode: str) -> Json:
        steps = [step.as_sent(self.prefixes.get(step.server, "")) for step in self.steps]
        return {"target": self.target, "mode": mode, "steps": steps}


@dataclass(slots=True)
class Way:
    """What became of a client on one route."""

    steps: int = 0  # that its library can take
    problems: list[Problem] = field(default_factory=list)

    @property
    def held(self) -> int:
        return self.steps - len({problem.step for problem in self.problems})


@dataclass(slots=True)
class Held:
    """What became of a client. Without ways it could not be run at all."""

    title: str
    version: str = ""
    revisions: list[str] = field(default_factory=list)
    ways: dict[str, Way] = field(default_factory=dict)
    cannot: list[str] = field(default_factory=list)  # steps that its library has no way to take
    not_run: str = ""  # why

    @property
    def problems(self) -> list[tuple[str, Problem]]:
        return [(route, problem) for route, way in self.ways.items() for problem in way.problems]

    @property
    def is_good(self) -> bool:
        return not self.not_run and not self.problems


def hold(stage: Stage, client: Client, version: str) -> Held:
    """Raises: BenchFailed, when the client could not be driven at all."""
    with ExitStack() as stack:
        plan = list(planned(stage, client, stack))
        reports = drive(stage, client, plan)
    revisions = [tap.take_revision() for tap in (stage.own, stage.all)]
    revisions += [str(report["revision"]) for report in reports if report["revision"]]
    held = judge_all(plan, reports, Held(client.title, version, list(dict.fromkeys(filter(None, revisions)))))
    if stage.take_empty_contacts():
        held.ways["in the demo's file"] = Way(1, [Problem("a wrapped contact", "is stored, as an empty row")])
    return held


def planned(stage: Stage, client: Client, stack: ExitStack) -> Iterator[Planned]:
    if client.speaks_http:

        def at(url: str) -> Target:
            return stage.to_stdio(client, url) if client.is_bridge else url

        yield Planned(at(stage.direct_url), compared())
        for server in client.servers:
            yield Planned(at(f"{stage.own.url}/mcp/{server}"), steps_with(server), OWN)
        both = [step for server in client.servers for step in steps_with(server)]
        yield Planned(at(f"{stage.all.url}/mcp"), both, ALL, {server: f"{server}__" for server in client.servers})
    if client.starts_commands:

        def behind(command: list[str]) -> Target:
            return stack.enter_context(stage.to_http(client, command)) if client.is_bridge else command

        yield Planned(behind(stage.server_command("everything")), compared(), over="stdio")
        for server in client.servers:
            yield Planned(behind(stage.wrap_command(server)), steps_with(server), WRAP, over="stdio")


def drive(stage: Stage, client: Client, plan: Sequence[Planned]) -> list[Json]:
    """Hold them in one process of the client's own Python; a report for each. Raises: BenchFailed."""
    python = PYTHON if client.is_bridge else FOLDER / client.name / "bin" / "python"
    command = [str(python), str(_DRIVERS / f"{client.driver}.py")]
    sent = json.dumps([each.as_sent(client.mode) for each in plan])
    try:
        done = subprocess.run(
            command,
            input=sent,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # libraries write to stderr what they like
            env=stage.environment,
            cwd=stage.folder,
            timeout=_CLIENT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"{client.title} did not end within {_CLIENT_SECONDS:.0f} s.") from None
    (stage.folder / f"{client.name}.said").write_text(done.stderr, "utf-8")
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    if len(reports) != len(plan):
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it said nothing")
        raise BenchFailed(f"the driver of {client.title} ended early: {last.strip()[:200]}")
    return reports


def judge_all(plan: Sequence[Planned], reports: Sequence[Json], held: Held) -> Held:
    """Adds to `held` what became of each session. The direct ones come before those that are compared with them."""
    direct: dict[str, dict[str, Json]] = {}
    for each, report in zip(plan, reports, strict=True):
        outcomes, names = report["outcomes"], [step.name for step in each.steps]
        way = held.ways.setdefault(each.route, Way())
        if each.route == DIRECT:
            direct[each.over] = dict(zip(names, outcomes, strict=False))
            held.cannot += [name for name, found in direct[each.over].items() if is_unsupported(found)]
            way.problems += troubles(each.steps, outcomes)
        else:
            way.problems += differences(each.steps, outcomes, direct[each.over], each.prefixes)
        way.steps += sum(name not in held.cannot for name in names)
    held.cannot = list(dict.fromkeys(held.cannot))
    return held
