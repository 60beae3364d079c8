"""Tool definitions for `handfast lint`: from servers, from commands, from toolboxes."""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import DEMO, DemoGateway, Ran
from tests.lint.project_files import write_files
from tests.stubs.run import Raw, tool, write_stub

Run = Callable[..., Ran]
OPEN_ROOTS = [("contact_stats", "inputSchema"), ("create_contact", "inputSchema"), ("list_contacts", "inputSchema")]


def told(ran: Ran) -> list[tuple[str, str]]:
    return [(finding["tool"], finding["path"]) for finding in json.loads(ran.out)]


def test_a_servers_tools_are_asked_for_through_the_gateway(handfast: Run, demo: DemoGateway) -> None:
    ran = handfast("lint", "--server", "contacts", "--url", demo.url, "-o", "json", "--select", "tool-open-root")
    assert (ran.code, told(ran), ran.err) == (0, OPEN_ROOTS, "")
    assert {finding["origin"] for finding in json.loads(ran.out)} == {"contacts"}


@pytest.mark.usefixtures("settings_file")
def test_a_server_that_fails_is_one_line(handfast: Run) -> None:
    ran = handfast("lint", "--server", "broken")
    text = "The server cannot start 'no-such-command': no such command. Check the command and the PATH."
    assert (ran.code, ran.out, ran.err) == (1, "", f"handfast: {text}\n")


@pytest.mark.parametrize("code", ["import sys\n\nsys.exit(0)\n", "raise SystemExit\n", "exit('bye')\n"])
def test_a_module_that_ends_the_process_is_one_line_and_no_success(handfast: Run, tmp_path: Path, code: str) -> None:
    write_files(tmp_path, {"ending.py": code})
    text = (
        "ending ends the process while it is imported, so nothing can be judged; guard what starts the server, "
        'such as tools.run(), with `if __name__ == "__main__":`'
    )
    assert handfast("lint", "--toolbox", "ending:tools") == Ran(1, "", f"handfast: {text}\n")


def test_a_command_that_sends_back_what_it_is_sent_is_no_server(handfast: Run) -> None:
    text = "The command sends back what it is sent, so it is no MCP server. Name the command of a server."
    assert handfast("lint", "--", "cat") == Ran(1, "", f"handfast: {text}\n")


def test_a_command_is_started_asked_and_stopped_and_nothing_is_kept(handfast: Run, tmp_path: Path) -> None:
    pages: list[Raw] = [
        [tool("a"), tool("b")],
        [tool("c", {"type": "object", "properties": {"x": {"type": "object"}}})],
    ]
    stub = write_stub(tmp_path, pages=pages)
    ran = handfast("lint", "--select", "tool-open-object", "-o", "json", "--", *stub.command)
    assert (ran.code, told(ran)) == (0, [("c", "inputSchema/properties/x")])
    [started] = stub.journal.events("started")
    with pytest.raises(ProcessLookupError):
        os.kill(started.pid, 0)
    assert not (tmp_path / "state").exists()


def test_a_command_gets_the_users_own_environment(
    handfast: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTACTS_DB", str(tmp_path / "own.db"))
    command = ["sh", "-c", f'exec {sys.executable} {DEMO} "$CONTACTS_DB"']
    ran = handfast("lint", "-o", "json", "--select", "tool-open-root", "--", *command)
    assert (told(ran), (tmp_path / "own.db").exists()) == (OPEN_ROOTS, True)


def test_a_command_that_is_none_is_one_line(handfast: Run) -> None:
    ran = handfast("lint", "--", "no-such-command")
    text = "The server cannot start 'no-such-command': no such command. Check the command and the PATH."
    assert (ran.code, ran.out, ran.err) == (1, "", f"handfast: {text}\n")


def test_a_file_that_cannot_be_read_is_wrong_usage(handfast: Run) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("tools.json")  # it exists, and nobody can open it
        ran = handfast("lint", "tools.json")
    text = "tools.json: cannot be read: No such device or address. Check the path."
    assert ran == Ran(2, "", f"handfast: {text}\n")


# --- toolboxes -------------------------------------------------------------------------------------------------------

TOOLBOX = """\
from handfast.toolkit import Args, Call, Toolbox

tools = Toolbox("shop")
nothing = object()


class Holder:
    inner = tools


class Which(Args):
    id: int


@tools.admin
async def delete_order(args: Which, call: Call) -> None:
    '''Delete one order.'''
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    before = list(sys.path)
    write_files(tmp_path, {"shop_tools.py": TOOLBOX, "shop_broken.py": "1 / 0\n"})
    yield tmp_path
    sys.path[:] = before
    for name in ("shop_tools", "shop_broken"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("named", ["shop_tools:tools", "shop_tools:Holder.inner", "shop_tools:tools.registry"])
def test_a_toolbox_is_imported_and_its_tools_are_judged(handfast: Run, named: str) -> None:
    ran = handfast("lint", "--toolbox", named)
    text = "Parameters without a description: id."
    assert ran.out.splitlines()[2:] == [f"  {named}: delete_order/inputSchema/properties: {text}"]
    assert (ran.code, ran.err) == (0, "judged 1 tool: 1 info\n")


PATTERNS = {
    "arguments": (
        (
            "class Bad(Args): sku: str = Field(pattern='(')\n\n\n"
            "@tools.read\nasync def look(args: Bad, call: Call) -> str: 'Look.'"
        ),
        "The field 'sku' of 'look' cannot be checked: unclosed group.",
    ),
    "model": (
        "\n\n\nclass Bad(BaseModel):\n    sku: str = Field(pattern='(')\n",
        "The field 'sku' has a schema that cannot be compiled: unclosed group.",
    ),
    "written out": (
        "\n\n\ntools.add(read_tool('get', 'Get.', handler=get, input_schema=BAD))\n",
        (
            "The input schema of 'get' cannot be used:"
            " The pattern at #/properties/sku/pattern is not a valid regular expression."
        ),
    ),
}
BEFORE_IT = """\
from handfast.toolkit import Args, Call, Toolbox, read_tool
from pydantic import BaseModel, Field

tools = Toolbox("shop")
SKU = {"type": "string", "pattern": "("}
BAD = {"type": "object", "additionalProperties": False, "properties": {"sku": SKU}}
async def get(**_): return ""
"""


@pytest.mark.parametrize(("code", "message"), PATTERNS.values(), ids=PATTERNS)
def test_an_invalid_pattern_in_an_authored_schema_is_a_finding(
    handfast: Run, shop: Path, code: str, message: str
) -> None:
    (shop / "shop_broken.py").write_text(BEFORE_IT + code)
    ran = handfast("lint", "--toolbox", "shop_broken:tools", "-o", "json")
    assert (ran.code, ran.err) == (1, "")
    assert json.loads(ran.out) == [
        {
            "id": "tool-schema-uncompilable",
            "level": "error",
            "message": message,
            "hint": "Correct the schema.",
            "file": "shop_broken.py",
            "line": 11,
            "origin": "shop_broken:tools",
            "tool": "",
            "path": "",
        }
    ]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("named", "about"),
    [
        ("shop_gone:tools", "shop_gone cannot be imported: ModuleNotFoundError: No module named 'shop_gone'"),
        ("shop_broken:tools", "shop_broken cannot be imported: ZeroDivisionError: division by zero"),
        ("shop_tools:gone", "shop_tools:gone: there is no 'gone'; check the name after the colon"),
        ("shop_tools:nothing", "shop_tools:nothing has no list_registered(); name a toolbox or a registry of tools"),
        (":tools", "':tools' is not module:attribute, such as contacts:tools"),
    ],
)
def test_a_toolbox_that_is_none_is_wrong_usage(handfast: Run, named: str, about: str) -> None:
    assert handfast("lint", "--toolbox", named) == Ran(2, "", f"handfast: {about}\n")


HIDDEN = """
from handfast.toolkit import Call, NoArgs, Toolbox

tools = Toolbox("x")


@tools.read
def delete_all(args: NoArgs, call: Call) -> str:
    "Delete it."
    return "x"


tools.dispatcher("work", "Work.", actions=["delete_all"], hides_tools=True)
"""


def test_a_tool_that_is_hidden_behind_a_dispatcher_is_judged(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"hidden.py": HIDDEN})
    ran = handfast("lint", "--toolbox", "hidden:tools", "--select", "tool-read-only-name", "-o", "json")
    assert told(ran) == [("delete_all", "annotations")]
    assert "judged 2 tools: " in handfast("lint", "--toolbox", "hidden:tools").err
