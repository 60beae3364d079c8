"""Where tool definitions come from: results of tools/list, lists of tools, toolboxes."""

import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest
from mcp_types import ToolAnnotations
from pydantic import BaseModel, TypeAdapter

from handfast.core.call.contract import ToolContract
from handfast.lint.findings import in_order
from handfast.lint.tools.checks import check_tools
from handfast.lint.tools.definitions import Definitions, ToolDefinition, read_definitions, read_registered
from handfast.toolkit import Args, Call, Toolbox, ToolSpec, admin_tool, read_tool

TOOL = b'{"name": "a", "description": "d", "inputSchema": {"type": "object", "x": 1.0}, "outputSchema": null}'
READ = ToolContract("a", b'{"type": "object", "x": 1.0}', None, None, "d")


@pytest.mark.parametrize(
    "text",
    [
        b"[%s]" % TOOL,
        b'{"tools": [%s], "nextCursor": "x"}' % TOOL,
        b'{"jsonrpc": "2.0", "id": 1, "result": {"tools": [%s]}}' % TOOL,
        b"\xef\xbb\xbf \n[%s]\n" % TOOL,
    ],
    ids=["a list", "a result", "an answer", "with a mark and spaces"],
)
def test_definitions_are_read_with_the_bytes_of_their_schemas(text: bytes) -> None:
    assert read_definitions(text, file="t.json") == Definitions((ToolDefinition(contract=READ, file="t.json"),))


@pytest.mark.parametrize(
    "text", [b"", b"7", b"{}", b'{"tools": {}}', b"[", b'{"tools": [], "tools": []}', b'{"result": 7}', b"\xff"]
)
def test_what_holds_no_definitions_is_a_finding(text: bytes) -> None:
    read = read_definitions(text, file="t.json")
    assert [(f.id, f.place, f.message) for f in read.findings] == [
        ("tool-unreadable", "t.json", "This holds no tool definitions.")
    ]
    assert read.tools == ()


def test_a_definition_that_cannot_be_read_loses_none_of_its_siblings() -> None:
    odd = [b"7", b"{}", b'{"name": 7}', b'{"name": ""}', b'{"name": "a", "Name": "b"}', TOOL]
    read = read_definitions(b"[%s]" % b",".join(odd), origin="server")
    assert [tool.contract for tool in read.tools] == [READ]
    assert [(f.path, f.message) for f in read.findings] == [
        ("0", "Tool number 1 in the list is not an object."),
        ("1", "Tool number 2 in the list has no name."),
        ("2", "Tool number 3 in the list has no name."),
        ("3", "Tool number 4 in the list has no name."),
        ("4", "Tool number 5 in the list has a key twice, or one that differs from the protocol's only in case."),
    ]


# --- toolboxes -------------------------------------------------------------------------------------------------------


@dataclass
class Spec:
    """Any object of this shape will do."""

    name: Any = "find"  # Any: also what is no name
    description: str | None = "Find it."
    input_schema: Any = field(
        default_factory=lambda: MappingProxyType({"type": "object", "additionalProperties": False})
    )
    annotations: Any = None  # Any: JSON, or the SDK's own


class Box:
    def __init__(self, *specs: object) -> None:
        self.specs = specs

    def list_registered(self) -> tuple[object, ...]:
        return self.specs


def test_any_object_that_lists_its_tools_is_read() -> None:
    hints = ToolAnnotations(read_only_hint=True)
    read = read_registered(Box(Spec(annotations=hints), Spec("drop", None)), origin="shop:tools")
    schema = b'{"type":"object","additionalProperties":false}'
    assert [tool.contract for tool in read.tools] == [
        ToolContract("find", schema, None, b'{"readOnlyHint":true}', "Find it."),
        ToolContract("drop", schema, None, None, ""),
    ]
    assert {tool.origin for tool in read.tools} == {"shop:tools"}


def test_a_registered_tool_that_cannot_be_read_is_a_finding() -> None:
    read = read_registered(Box(Spec(name=None), Spec("odd", input_schema={"x": object()}), Spec()), origin="shop:tools")
    assert [tool.contract.name for tool in read.tools] == ["find"]
    assert [(f.place, f.message) for f in read.findings] == [
        ("shop:tools", "A registered tool has no name."),
        ("shop:tools: odd", "A schema or annotation of this tool cannot be written as JSON."),
    ]


class Which(Args):
    id: int
    """The contact's number."""


class Contact(BaseModel):
    id: int


def toolbox(envelope: str = "plain") -> Toolbox:
    tools = Toolbox("contacts", envelope=envelope)

    @tools.read
    async def get_contact(args: Which, call: Call) -> Contact:
        """Read one contact."""
        return Contact(id=args.id)

    @tools.admin
    async def delete_all(call: Call) -> list[int]:
        """Delete them all."""
        return []

    async def drop(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # Any: a ToolHandler's
        return "{}"

    tools.add(admin_tool("drop", "Drop one.", args_model=Which, handler=drop))
    tools.add(read_tool("count", "Count them.", handler=drop))
    return tools


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_nothing_is_found_in_a_real_toolbox(envelope: str) -> None:
    read = read_registered(toolbox(envelope), origin="contacts:tools")
    assert [tool.contract.name for tool in read.tools] == ["count", "delete_all", "drop", "get_contact"]
    assert [(f.id, f.place) for f in in_order(check_tools(read))] == []


def test_a_registry_is_as_good_as_its_toolbox() -> None:
    tools = toolbox()
    assert read_registered(tools.registry, origin="x") == read_registered(tools, origin="x")


def test_an_output_schema_that_cannot_hold_the_result_type_is_found() -> None:
    async def run(model: Any, arguments: dict[str, Any], call: Call) -> Any:  # Any: as a ToolSpec has it
        return 7

    promised = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
    returned: TypeAdapter[Any] = TypeAdapter(Contact)  # Any: the type is the point
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tools = Toolbox("contacts")
    tools.add(ToolSpec("count", "Count.", schema, run, output_schema=promised, returns=returned, run=run))
    found = check_tools(read_registered(tools, origin="contacts:tools"))
    assert [(f.id, f.place) for f in found] == [("tool-result-type", "contacts:tools: count/outputSchema")]


def test_what_clients_see_is_judged_and_not_what_is_registered() -> None:
    """The envelope wraps a list, so the root that clients see is an object."""
    read = read_registered(toolbox(), origin="x")
    schema = {tool.contract.name: json.loads(tool.contract.output_schema or b"null") for tool in read.tools}
    assert schema["delete_all"]["type"] == "object"
