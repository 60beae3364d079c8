"""assert_contract: what it says of toolboxes with a fault each, and that it is silent on good ones."""

import asyncio
import logging
import re
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.types import TextContent
from pydantic import Field

from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit import Actor, Args, Call, Reply, Toolbox, ToolError, read_tool, write_tool
from handfast.toolkit.testing.blocked_loops import LoopBlocked
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
def test_a_fault_is_caught_and_told_of_its_tool(
    name: str, envelope: str, quiet: None, caplog: pytest.LogCaptureFixture
) -> None:
    fault = FAULTS[name]
    tools = make_faulty(name, envelope)
    registered = [record.getMessage() for record in caplog.records]
    assert len(registered) == len(fault.logged)
    assert all(map(str.startswith, registered, fault.logged))
    caplog.clear()  # from here on nothing is logged
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
        "ImportError: handfast.toolkit.testing makes its arguments with Hypothesis. Run: pip install hypothesis"
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


def test_a_schema_that_turns_out_to_be_unusable_only_when_it_is_served_is_a_problem() -> None:
    heavy = {"type": "string", "anyOf": [{"maxLength": 3}] * 1200}  # compiled in the slow lane only
    properties = {"heavy": heavy, "code": {"type": "string", "pattern": "["}}
    tools = Toolbox("t")

    async def find(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return '{"status": "ok", "data": 1}'

    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    tools.add(read_tool("find", "Find it.", handler=find, input_schema=schema))
    told = (
        "The input schema of 'find' cannot be used: The pattern at #/properties/code/pattern is not a valid regular "
        "expression. Correct the schema."
    )
    assert asyncio.run(contract_problems(tools)) == [Problem("t", told)]


# --- on an app that may be destroyed -------------------------------------------------------------------------------


def make_shelf(ran: list[tuple[str, int]]) -> Toolbox:
    tools = Toolbox("shelf", app={"of": "production"})

    @tools.write
    async def put(args: Number, call: Call) -> int:
        """Put one there."""
        ran.append(("put", id(call.app)))
        assert "of" not in call.app
        return {True: 1}[args.n >= 0]

    @tools.admin
    async def clear(args: Number, call: Call) -> str:
        """Take all away."""
        ran.append(("clear", id(call.app)))
        call.app[args.n] = call.reason
        return str(call.actor.id)

    return tools


def test_tools_that_write_are_run_on_apps_that_are_made_for_them() -> None:
    ran: list[tuple[str, int]] = []
    made: list[dict[Any, Any]] = []

    def make_app() -> dict[Any, Any]:
        made.append({})
        return made[-1]

    tools = make_shelf(ran)
    problems = asyncio.run(contract_problems(tools, throwaway_app=make_app))
    assert [(each.tool, each.arguments) for each in problems] == [("put", {"n": -1})]
    assert "it raised KeyError" in problems[0].what
    assert {name for name, _ in ran} == {"put", "clear"}
    assert {app for _, app in ran} == {id(app) for app in made}
    assert len(made) == 2
    assert tools.app == {"of": "production"}


def test_without_such_an_app_none_of_them_is_run() -> None:
    ran: list[tuple[str, int]] = []
    assert_contract(make_shelf(ran))
    assert ran == []


# --- tools that hang -----------------------------------------------------------------------------------------------


def test_a_tool_that_blocks_the_event_loop_is_given_up_and_named() -> None:
    tools = Toolbox("t")

    @tools.read
    async def sleep(args: Number) -> int:
        """Block."""
        if args.n > 3:
            threading.Event().wait()  # the fault
        return args.n

    @tools.read
    async def spin(args: Number) -> int:
        """Block, busily."""
        while args.n > 3:
            pass
        return args.n

    problems = asyncio.run(contract_problems(tools, patience_s=0.2))
    assert [each.tool for each in problems] == ["sleep", "spin"]
    for each in problems:
        told = f"gave no answer within 0.2 s and blocked the event loop: {LoopBlocked.__name__} at test_contract.py:"
        assert re.fullmatch(rf"{re.escape(told)}\d+ in {each.tool}", each.what), each.what


@pytest.mark.slow
def test_a_tool_that_nothing_in_python_interrupts_or_cancels_is_given_up() -> None:
    tools = Toolbox("t")

    @tools.read
    async def match(args: Number) -> int:
        """Match, and let no thread run."""
        return len(re.findall(r"(a+)+$", "a" * 40 + "b"))  # the fault

    @tools.read
    async def stay(args: Number) -> int:
        """Wait, whatever happens."""
        while True:
            with suppress(BaseException):  # the fault
                await asyncio.Event().wait()

    @tools.read
    async def good(args: Number) -> int:
        """Answer."""
        return args.n

    problems = asyncio.run(contract_problems(tools, patience_s=0.2))
    assert [each.tool for each in problems] == ["match", "stay"]
    assert problems[0].what.startswith("gave no answer within 0.2 s and blocked the event loop: LoopBlocked at test_")
    assert problems[1].what == "gave no answer within 0.2 s"


@pytest.mark.parametrize("is_async", [True, False])
def test_an_interrupt_that_a_tool_raises_is_a_problem_and_ends_nothing(is_async: bool) -> None:
    tools = Toolbox("t")

    async def soon() -> int:
        """Interrupt."""
        raise KeyboardInterrupt  # the fault

    def at_once() -> int:
        """Interrupt."""
        raise KeyboardInterrupt  # the fault

    tools.read(soon if is_async else at_once)
    (problem,) = asyncio.run(contract_problems(tools, examples=5))
    assert "failed with internal_error: it raised KeyboardInterrupt at test_contract.py:" in problem.what
