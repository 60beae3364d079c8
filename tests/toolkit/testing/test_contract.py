"""assert_contract: what it says of toolboxes with a fault each, and that it is silent on good ones."""

import asyncio
import logging
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.types import TextContent
from pydantic import Field

from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit import Actor, Args, Call, Reply, Toolbox, ToolError, read_tool, write_tool
from handfast.toolkit.testing.contract import assert_contract, contract_problems
from handfast.toolkit.testing.problems import Problem
from tests.demo import ROOT
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.testing.faulty import FAULTS, SECRET, Number, make_faulty
from tests.toolkit.testing.tried_schemas import Colour, Everything

IN_EVERY_FORM = ("wrong type", "naive time", "negative numbers", "undeclared code", "stack trace", "hang")
CASES = [(name, "plain") for name in FAULTS] + [(name, form) for name in IN_EVERY_FORM for form in ("result", "status")]


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Any:
    """Nothing is logged and nothing is printed."""
    caplog.set_level(logging.DEBUG)
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.name != "asyncio"] == []
    assert capfd.readouterr() == ("", "")


# --- seeded faults -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "envelope"), CASES)
def test_a_fault_is_caught_and_told_of_its_tool(name: str, envelope: str, quiet: None) -> None:
    fault = FAULTS[name]
    tools = make_faulty(name, envelope)
    with pytest.raises(AssertionError) as caught:
        assert_contract(tools, examples=30, **fault.options)
    for each in tools.app:
        each.close()
    told = str(caught.value)
    assert told.startswith("The tools of 'faulty' break their contract, ")
    assert f"\n- {fault.tool}: " in told
    assert "\n- works: " not in told
    assert fault.words in told
    assert SECRET not in told
    if fault.arguments is not None:
        assert f'    reproduce: await tools.dispatch("{fault.tool}", {fault.arguments!r})' in told, told


def test_a_report_says_which_tool_what_the_shape_and_how_to_see_it_again() -> None:
    tools = make_faulty("negative numbers")
    with pytest.raises(AssertionError) as caught:
        assert_contract(tools)
    assert re.sub(r"\d+ in", "N in", str(caught.value)) == (
        "The tools of 'faulty' break their contract, 1 problem:\n"
        "- name_of: failed with internal_error: it raised KeyError at faulty.py:N in name_of\n"
        "    arguments: {n: integer}\n"
        "    reproduce: await tools.dispatch(\"name_of\", {'n': -1})"
    )


def test_every_problem_is_told_and_twice_the_same() -> None:
    def told() -> list[Problem]:
        tools = Toolbox("t", app=[])
        for name in ("refused default", "long texts", "coerced number", "naive time"):
            FAULTS[name].build(tools)
        return asyncio.run(contract_problems(tools))

    first = told()
    assert {problem.tool for problem in first} == {"turn", "shout", "count", "last_seen"}
    assert told() == first


def test_different_faults_of_one_tool_are_told_apart() -> None:
    tools = Toolbox("t")

    @tools.read
    async def odd(args: Number) -> int:
        """Be odd in two ways."""
        if args.n > 1:
            raise KeyError(args.n)
        return [args.n][1] if args.n < 0 else args.n

    problems = asyncio.run(contract_problems(tools))
    assert sorted(problem.arguments["n"] for problem in problems) == [-1, 2]


# --- what is good --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_a_good_toolbox_passes_without_noise(envelope: str, quiet: None) -> None:
    assert_contract(make_toolbox(envelope))


def test_the_server_of_the_documents_passes_without_noise(quiet: None) -> None:
    page = (ROOT / "docs" / "toolkit.md").read_text("utf-8")
    (source,) = re.findall(r"<!-- server -->\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "contacts"}
    exec(compile(source, "contacts.py", "exec"), names)  # the page itself
    assert_contract(names["tools"])


def test_arguments_of_every_kind_get_as_far_as_the_handler(quiet: None) -> None:
    tools = Toolbox("t")
    seen: list[Everything] = []

    @tools.read
    async def take(args: Everything) -> Everything:
        """Take everything, and give it back."""
        seen.append(args)
        return args

    assert_contract(tools)
    assert len(seen) > 20  # a decimal may be any text to its schema, so the others are refused
    assert {args.colour for args in seen} == {Colour.RED, Colour.BLUE}
    assert any(args.tree is not None and args.tree.branches for args in seen)


def test_a_tool_that_ignores_its_arguments_or_fails_as_declared_is_fine(quiet: None) -> None:
    tools = Toolbox("t", codes=["closed_error"])

    @tools.read
    async def now(args: Number) -> datetime:
        """What time it is."""
        return datetime.now(UTC)

    @tools.read
    def never(args: Number) -> int:
        """Say no."""
        raise ToolError("closed_error", "It is closed. Come again tomorrow.")

    assert_contract(tools)


class NoSuchBook(Exception):
    """Of the author's own, with words for the agent."""


def test_an_exception_of_the_author_may_carry_the_words_of_a_failure(quiet: None) -> None:
    tools = Toolbox("t")

    @tools.read
    async def find(args: Number) -> int:
        """Find a book."""
        try:
            raise NoSuchBook("There is no such book. Look in the catalogue.")
        except NoSuchBook as problem:
            raise ToolError("not_found", str(problem)) from problem

    assert_contract(tools)


def test_text_and_structured_content_agree_whatever_a_handler_adds(quiet: None) -> None:
    """A mismatch cannot be written with the toolkit: blocks of a handler come after its payload."""
    tools = Toolbox("t")

    @tools.read
    async def add(args: Number) -> Reply[int]:
        """Give a number, and say another."""
        return Reply(args.n, TextContent(type="text", text='{"result": "another"}'))

    assert_contract(tools)


# --- what is done, and what is not ---------------------------------------------------------------------------------


def test_only_tools_that_read_are_run_and_each_as_often_as_is_said() -> None:
    ran: list[str] = []
    tools = Toolbox("t")

    async def write(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        ran.append("write")
        return "{}"

    @tools.read
    async def read(args: Number) -> int:
        """Read."""
        ran.append("read")
        return args.n

    @tools.read
    async def dear(args: Number) -> int:
        """Cost money."""
        ran.append("dear")
        return args.n

    @tools.admin
    async def destroy(args: Number, call: Call) -> int:
        """Destroy."""
        ran.append("destroy")
        return args.n

    tools.add(write_tool("write", "Write.", handler=write))
    assert_contract(tools, examples=7, skip=["dear"])
    assert ran == ["read"] * 7


def test_a_name_to_skip_that_no_tool_has_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"^There is no tool nothing to skip; correct the name\.$"):
        assert_contract(make_toolbox(), skip=["nothing", "echo"])


def test_the_actor_is_the_one_that_is_given_and_the_toolbox_stays_as_it_was() -> None:
    seen: set[Any] = set()
    tools = Toolbox("t")

    @tools.read
    async def who(args: Number, call: Call) -> str:
        """Say who calls."""
        seen.add(call.actor)
        return "somebody"

    before = (tools.actor, tools.registry, list(tools.list_registered()))
    assert_contract(tools, actor=Actor(id="ada"))
    assert seen == {Actor(id="ada")}
    assert (tools.actor, tools.registry, list(tools.list_registered())) == before
    assert asyncio.run(tools.dispatch("who", {"n": 1})).payload == {"result": "somebody"}


def test_examples_of_the_schema_are_tried() -> None:
    seen: set[str] = set()
    tools = Toolbox("t")

    class Which(Args):
        id: str = Field(examples=["contact-7"])

    @tools.read
    async def get(args: Which) -> str:
        """Get it."""
        seen.add(args.id)
        return args.id

    assert_contract(tools, examples=10)
    assert "contact-7" in seen


def test_in_async_code_the_problems_are_awaited() -> None:
    async def both() -> list[Problem]:
        with pytest.raises(RuntimeError, match=r"Use `await contract_problems\(…\)`\.$"):
            assert_contract(make_toolbox())
        return await contract_problems(make_toolbox())

    assert asyncio.run(both()) == []


def test_a_heavy_schema_is_judged_and_no_process_is_left_behind(quiet: None) -> None:
    """Its arguments go to a process beside, which belongs to one session and ends with it."""
    tools = Toolbox("t")

    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return '{"status": "ok", "data": 1}'

    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^.{1,255}$"}},
        "additionalProperties": False,
    }
    tools.add(read_tool("find", "Find it.", handler=find, input_schema=schema))
    compiled = tools.registry.registered("find").contract.input
    assert isinstance(compiled, CompiledSchema)
    assert compiled.validator is None
    for _ in range(2):  # each with an event loop of its own
        assert_contract(tools, examples=5)


# --- in pytest -----------------------------------------------------------------------------------------------------


def test_without_hypothesis_one_line_says_what_to_install() -> None:
    program = "import sys; sys.modules['hypothesis'] = None; import handfast.toolkit; import handfast.toolkit.testing"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: handfast.toolkit.testing makes its arguments with Hypothesis. "
        'Run: pip install "handfast[testing]"'
    )


def test_in_pytest_a_contract_is_one_line_and_its_failure_is_the_report(tmp_path: Path) -> None:
    (tmp_path / "test_server.py").write_text(
        "from handfast.toolkit.testing import assert_contract\n"
        "from tests.toolkit.contacts import make_toolbox\n"
        "from tests.toolkit.testing.faulty import make_faulty\n"
        "def test_good(): assert_contract(make_toolbox())\n"
        "def test_contract(): assert_contract(make_faulty('empty lists'))\n"
    )
    command = (sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", tmp_path)
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "test_server.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("E ")]
    assert shown[0] == "E   AssertionError: The tools of 'faulty' break their contract, 1 problem:"
    assert len(shown) == 4
    assert "Captured" not in done.stdout
    assert "contract.py" not in done.stdout
