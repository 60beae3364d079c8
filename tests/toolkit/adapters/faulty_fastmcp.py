"""The same tools on FastMCP, with the faults that it allows. Run by the Python of the parts, where FastMCP is."""

from fastmcp import FastMCP  # type: ignore[import-not-found]  # it is in .parts only
from fastmcp.tools.base import ToolResult  # type: ignore[import-not-found]  # as above
from mcp.shared.exceptions import MCPError
from mcp.types import MISSING_REQUIRED_CLIENT_CAPABILITY

from tests.toolkit.adapters.faulty_sdk import SCORE, Contact, Score


def fast() -> FastMCP:
    """It takes "3" for a number, and sends results that it never checked."""
    server = FastMCP("contacts", version="1.0")
    stored: list[str] = []

    @server.tool  # type: ignore[untyped-decorator]  # as above
    def create_contact(email: str, first_name: str = "", stars: int = 0) -> Contact:
        """Create one contact."""
        stored.append(email)
        return Contact(id=len(stored), email=email)

    @server.tool  # type: ignore[untyped-decorator]  # as above
    def count_contacts() -> int:
        """Count the contacts."""
        return len(stored)

    @server.tool(output_schema=SCORE)  # type: ignore[untyped-decorator]  # as above
    def rate() -> ToolResult:
        """Rate the contacts."""
        return ToolResult(content="done", structured_content={"score": "none yet"})

    @server.tool  # type: ignore[untyped-decorator]  # as above
    def fail() -> Score:
        """Fail in a way that FastMCP does not make a result of."""
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "out of order")

    return server
