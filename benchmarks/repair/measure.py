"""One run: every faulty call to every contender, its text to the agent, and the repaired call judged."""

import json
import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.contenders import PARTS_PYTHON
from benchmarks.processes import ROOT, BenchFailed
from benchmarks.repair.agent import repair
from benchmarks.repair.faults import CLASSES, Fault, make_faults
from benchmarks.repair.ours import Judge
from benchmarks.repair.tools import Json, Tool, read_tools

OURS: Final = "handfast"
PEERS: Final = {"fastmcp": "FastMCP 4.1.2", "sdk": "SDK `mcp` 2.3", "pydantic": "pydantic"}
SEED: Final = 17
_DISPATCHED: Final = ("docx", "excel", "filesystem", "git-mcp", "memory", "mongodb")
_MOST_ACTIONS: Final = 14


@dataclass(frozen=True)
class Outcome:
    """What became of one faulty call: the text that came back, and whether the call was right in the end."""

    fault: Fault
    contender: str
    text: str | None  # None where the call was accepted
    repaired: Any  # Any: JSON
    is_right: bool


@dataclass(frozen=True)
class Report:
    outcomes: list[Outcome]
    tools: int
    left_out: int

    def share(self, contender: str, kind: str | None = None) -> float:
        found = [one.is_right for one in self.outcomes if _fits(one, contender, kind)]
        return sum(found) / len(found)

    def faults(self, kind: str | None = None) -> int:
        return sum(_fits(one, OURS, kind) for one in self.outcomes)

    def accepted(self, contender: str) -> int:
        return sum(one.text is None for one in self.outcomes if one.contender == contender)

    def length(self, contender: str) -> int:
        texts = [len(one.text) for one in self.outcomes if one.contender == contender and one.text is not None]
        return round(statistics.median(texts))


def _fits(one: Outcome, contender: str, kind: str | None) -> bool:
    return one.contender == contender and kind in (None, one.fault.kind)


async def run(seed: int = SEED) -> Report:
    """Raises: BenchFailed."""
    listed = read_tools()
    dispatchers = [dispatcher(server, listed) for server in _DISPATCHED]
    unfit = ask_peers([*listed, *(one for one, _ in dispatchers)], [])["unfit"]
    tools = [tool for tool in listed if tool.key not in unfit and tool.has_call]
    actions = {one.key: {action.name: action for action in behind} for one, behind in dispatchers}
    faults = make_faults(tools, dispatchers, seed)
    called = {fault.tool.key: fault.tool for fault in faults}
    answers = ask_peers(list(called.values()), [(fault.tool.key, fault.faulty) for fault in faults])["answers"]
    judge = Judge()
    outcomes: list[Outcome] = []
    try:
        for fault, answer in zip(faults, answers, strict=True):
            text = await judge.answer(fault.tool, fault.faulty, actions.get(fault.tool.key, {}))
            outcomes.append(_outcome(fault, OURS, {"read": fault.faulty} if text is None else {"error": text}))
            outcomes += [_outcome(fault, peer, answer[peer]) for peer in PEERS]
    finally:
        await judge.close()
    return Report(outcomes, tools=len(tools), left_out=len(listed) - len(tools))


def dispatcher(server: str, listed: list[Tool]) -> tuple[Tool, list[Tool]]:
    """One tool in place of a server's, and those behind it."""
    behind = [tool for tool in listed if tool.server == server and tool.has_call][:_MOST_ACTIONS]
    schema: Json = {
        "type": "object",
        "properties": {"action": {"enum": [tool.name for tool in behind]}, "arguments": {"type": "object"}},
        "required": ["action", "arguments"],
        "additionalProperties": False,
    }
    return Tool(server, "dispatcher", schema), behind


def _outcome(fault: Fault, contender: str, answer: Mapping[str, Any]) -> Outcome:
    text = answer.get("error")
    if text is None:
        # A call that was accepted is right where the tool got what was meant, as where "3" is read as 3.
        return Outcome(fault, contender, None, None, _plain(answer["read"]) == _plain(fault.original))
    repaired = repair(text, fault.faulty)
    return Outcome(fault, contender, text, repaired, fault.is_repaired(repaired))


def _plain(value: Any) -> Any:  # Any: JSON
    """Without nulls: a function's parameters that were not given are null."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return {key: _plain(said) for key, said in value.items() if said is not None} if isinstance(value, dict) else value


def ask_peers(tools: list[Tool], calls: list[tuple[str, Json]]) -> Json:
    asked = {"tools": {tool.key: tool.schema for tool in tools}, "calls": calls}
    command = [PARTS_PYTHON, "-m", "benchmarks.repair.peers"]
    done = subprocess.run(command, input=json.dumps(asked).encode(), capture_output=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise BenchFailed(f"the peers did not answer: {done.stderr.decode()[-500:]}")
    answered: Json = json.loads(done.stdout)
    return answered


def render_table(report: Report) -> str:
    contenders = {OURS: OURS, **PEERS}
    lines = [
        f"| fault | calls | {' | '.join(contenders.values())} |",
        f"|---|---|{'---|' * len(contenders)}",
    ]
    for kind in (*CLASSES, None):
        shares = " | ".join(f"{100 * report.share(contender, kind):.0f} %" for contender in contenders)
        lines.append(f"| {kind or '**all**'} | {report.faults(kind)} | {shares} |")
    accepted = " | ".join(str(report.accepted(contender)) for contender in contenders)
    lengths = " | ".join(f"{report.length(contender)}" for contender in contenders)
    lines += [f"| accepted without a word | | {accepted} |", f"| median length of a text, characters | | {lengths} |"]
    counted = f"{report.faults()} faulty calls to {report.tools} tools; {report.left_out} tools fit no plain call."
    return "\n".join([counted, "", *lines])


def render_json(report: Report) -> str:
    contenders = (OURS, *PEERS)
    figures = {
        contender: {
            "repaired": {kind or "all": round(report.share(contender, kind), 4) for kind in (*CLASSES, None)},
            "accepted": report.accepted(contender),
            "median_text": report.length(contender),
        }
        for contender in contenders
    }
    counts = {kind: report.faults(kind) for kind in CLASSES}
    return json.dumps(
        {"faults": counts, "tools": report.tools, "left_out": report.left_out, "contenders": figures}, indent=2
    )
