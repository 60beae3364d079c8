"""The repair benchmark: the same faults in every run, an agent that only reads, and figures for every contender."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.repair.__main__ import MARKS, PAGE
from benchmarks.repair.agent import repair
from benchmarks.repair.faults import CLASSES, make_faults
from benchmarks.repair.measure import OURS, PEERS, dispatcher, render_json, render_table, run
from benchmarks.repair.tools import Tool, closed, read_tools

from tests.parts import Parts

LISTED = "Declared fields: ["


def test_three_hundred_faults_of_every_class_are_the_same_in_every_run() -> None:
    tools = read_tools()
    assert len({tool.server for tool in tools}) >= 10
    usable = [tool for tool in tools if tool.has_call]
    faults, again = (make_faults(usable, [dispatcher("memory", tools)], 17) for _ in range(2))
    assert len(faults) >= 300
    assert {fault.kind for fault in faults} == set(CLASSES)
    assert [fault.faulty for fault in faults] == [fault.faulty for fault in again]
    assert all(fault.is_repaired(fault.original) and not fault.is_repaired(fault.faulty) for fault in faults)


def test_a_strict_reading_refuses_unknown_keys_unless_the_schema_welcomes_them() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "object"}}}
    schema = {"type": "object", "properties": {"x": inner, "y": {**inner, "additionalProperties": True}}}
    tool = Tool("s", "t", closed(schema))
    assert not tool.accepts({"x": {"b": 1}})
    assert tool.accepts({"x": {"a": {"b": 1}}, "y": {"b": 1}})


FIELD = (
    "\n  {} [type={}, input_value='x', input_type=str]\n    For further information visit https://errors.pydantic.dev"
)
OPTIONS = ("Input should be 'fast' or 'slow'", "literal_error")
EXTRA, REQUIRED = ("Extra inputs are not permitted", "extra_forbidden"), ("Field required", "missing")
CASES: list[tuple[str, str, Any, Any]] = [
    ("pydantic, misspelt", f"name{FIELD.format(*REQUIRED)}\nnmae{FIELD.format(*EXTRA)}", {"nmae": 1}, {"name": 1}),
    ("pydantic, nested", f"a.0.b{FIELD.format(*EXTRA)}", {"a": [{"b": 1, "c": 2}]}, {"a": [{"c": 2}]}),
    ("pydantic, type", f"n{FIELD.format('Input should be a valid integer', 'int_type')}", {"n": [3]}, {"n": 3}),
    ("pydantic, options", f"m{FIELD.format(*OPTIONS)}", {"m": "FAST"}, {"m": "fast"}),
    ("pydantic, limit", f"n{FIELD.format('Input should be less than or equal to 10', 'e')}", {"n": 99}, {"n": 10}),
    ("SDK, wrapped", f"name{FIELD.format(*REQUIRED)}", {"data": {"name": 1}}, {"name": 1}),
    (
        "handfast, misspelt",
        f"Argument 'nmae' is not a declared field. Remove it and call again.\n{LISTED}\"name\"].",
        {"nmae": 1},
        {"name": 1},
    ),
    (
        "handfast, wrapped",
        f'Unwrap \'data\': send "name" directly, not inside "data".\n{LISTED}"name"].',
        {"data": {"name": 1}},
        {"name": 1},
    ),
    (
        "handfast, type",
        "The arguments do not fit what the tool declares: a/0: must be an integer, not a string. Correct them",
        {"a": ["3"]},
        {"a": [3]},
    ),
]


@pytest.mark.parametrize(("text", "faulty", "repaired"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_agent_does_what_a_text_says_and_no_more(text: str, faulty: Any, repaired: Any) -> None:
    assert repair(text, faulty) == repaired


def test_a_text_that_says_nothing_leaves_the_call_as_it_was() -> None:
    assert repair("Something went wrong.", {"a": 1}) == {"a": 1}


def test_all_contenders_are_measured_in_one_run(parts: Parts, tmp_path: Path) -> None:
    report = asyncio.run(run())
    figures = json.loads(render_json(report))
    assert set(figures["contenders"]) == {OURS, *PEERS}
    assert sum(figures["faults"].values()) >= 300
    assert all(0 < each["repaired"]["all"] <= 1 and each["median_text"] > 0 for each in figures["contenders"].values())
    page = PAGE.read_text("utf-8")
    assert MARKS[0] in page
    assert render_table(report) in page, "run: python -m benchmarks.repair --write"
