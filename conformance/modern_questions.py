"""What the suite's legacy scenarios call, written as a server of 2026-07-28 would: its questions stand in results."""

from typing import Annotated, Any

from mcp.server.mcpserver import (
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp.server.mcpserver.resolve import Sample
from mcp.types import CreateMessageResult, SamplingMessage, TextContent
from mcp_everything_server.server import (  # type: ignore[import-not-found]  # installed in .parts only
    EnumSchemasTestSchema,
    SEP1034DefaultsSchema,
    UserResponse,
)


def ask_in_results(server: Any) -> None:  # Any: the SDK's server
    """Put these in the place of the tools that send the client requests, which 2026-07-28 does not have."""
    for tool in (
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
    ):
        server.remove_tool(tool.__name__)
        server.add_tool(tool)


def _ask_model(prompt: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=prompt))], max_tokens=100)


def _ask_user(message: str) -> Elicit[UserResponse]:
    return Elicit(message, UserResponse)


def _ask_defaults() -> Elicit[SEP1034DefaultsSchema]:
    return Elicit("Please provide user information", SEP1034DefaultsSchema)


def _ask_choices() -> Elicit[EnumSchemasTestSchema]:
    return Elicit("Please select values using different enum schema types", EnumSchemasTestSchema)


async def test_sampling(
    prompt: str,  # noqa: ARG001  # the question takes it
    answer: Annotated[CreateMessageResult, Resolve(_ask_model)],
) -> str:
    """Ask the model"""
    return f"LLM response: {answer.content.text}"


async def test_elicitation(
    message: str,  # noqa: ARG001  # the question takes it
    answer: Annotated[ElicitationResult[UserResponse], Resolve(_ask_user)],
) -> str:
    """Ask the user"""
    return f"User response: action={answer.action}"


async def test_elicitation_sep1034_defaults(
    answer: Annotated[ElicitationResult[SEP1034DefaultsSchema], Resolve(_ask_defaults)],
) -> str:
    """Ask the user with defaults of every kind"""
    return f"Elicitation result: action={answer.action}"


async def test_elicitation_sep1330_enums(
    answer: Annotated[ElicitationResult[EnumSchemasTestSchema], Resolve(_ask_choices)],
) -> str:
    """Ask the user to choose in every form"""
    return f"Elicitation completed: action={answer.action}"
