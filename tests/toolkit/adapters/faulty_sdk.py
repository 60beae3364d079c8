"""Servers on the official SDK with the faults that it allows: the same tools, high-level and low-level."""

from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import BaseModel

CONTACT = {
    "type": "object",
    "properties": {"email": {"type": "string"}, "first_name": {"type": "string"}, "stars": {"type": "integer"}},
    "required": ["email"],
}
SCORE = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}


class Contact(BaseModel):
    id: int
    email: str


class Score(BaseModel):
    score: float


def high() -> MCPServer:
    """It drops unknown arguments, and a NaN leaves as null."""
    server = MCPServer("contacts", version="1.0", log_level="ERROR")
    stored: list[str] = []

    @server.tool()
    def create_contact(email: str, first_name: str = "", stars: int = 0) -> Contact:
        """Create one contact."""
        stored.append(email)
        return Contact(id=len(stored), email=email)

    @server.tool()
    def count_contacts() -> int:
        """Count the contacts."""
        return len(stored)

    @server.tool()
    def rate() -> Score:
        """Rate the contacts, of whom there are none."""
        return Score(score=float("nan"))

    @server.tool()
    def fail() -> Score:
        """Fail, and say so."""
        raise MCPError(-1, "out of order")

    return server


def low() -> Server[Any]:
    """It applies no schema at all."""
    stored: list[str] = []

    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(name="create_contact", input_schema=CONTACT),
                Tool(name="count_contacts", input_schema={"type": "object", "properties": {}}),
                Tool(name="rate", input_schema={"type": "object", "properties": {}}, output_schema=SCORE),
                Tool(name="fail", input_schema={"type": "object", "properties": {}}),
            ]
        )

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        given = params.arguments or {}
        if params.name == "create_contact":
            stored.append(str(given.get("email")))
            return answer({"id": len(stored), "email": stored[-1]})
        if params.name == "count_contacts":
            return answer({"result": len(stored)})
        if params.name == "rate":
            return answer({"score": "none yet"})
        raise MCPError(-1, "out of order")

    return Server("contacts", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


def answer(structured: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="done")], structured_content=structured)
