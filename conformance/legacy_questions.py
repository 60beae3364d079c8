"""What the suite's modern scenarios call, as a server of 2025 would have it: its questions are requests."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context  # type: ignore[import-not-found]  # installed in .parts only
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage  # type: ignore[import-not-found]  # in .parts only
from mcp.shared.message import ServerMessageMetadata  # type: ignore[import-not-found]  # installed in .parts only
from mcp.types import (  # type: ignore[import-not-found]  # installed in .parts only
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

Server = Any  # the SDK's server
_CONFIRM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def ask_in_the_middle_of_calls(server: Server) -> None:
    """Put these in the place of the tools and the prompt that answer `input_required`, which is of 2026."""
    for tool in _TOOLS:
        server.remove_tool(tool.__name__)
        server.add_tool(tool)
    server.remove_prompt(test_input_required_result_prompt.__name__)
    server.add_prompt(Prompt.from_function(test_input_required_result_prompt))


def _text_field(name: str) -> dict[str, object]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


async def _elicit(ctx: Context, message: str, schema: dict[str, object]) -> dict[str, Any]:  # Any: a client's answer
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return answer.content or {}


async def _sample(ctx: Context, prompt: str) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return answer.content.text if answer.content.type == "text" else "?"


async def _count_roots(ctx: Context) -> int:
    # Not list_roots(), which asks on the GET stream: nothing says there which call a question belongs to.
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    return len((await ctx.session.send_request(ListRootsRequest(), ListRootsResult, metadata=related)).roots)


async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name"""
    return f"Hello, {(await _elicit(ctx, 'What is your name?', _text_field('name'))).get('name')}!"


async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the model"""
    return f"Model said: {await _sample(ctx, 'What is the capital of France?')}"


async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the roots"""
    return f"Client exposed {await _count_roots(ctx)} root(s)."


async def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a yes"""
    return f"state-ok: {(await _elicit(ctx, 'Please confirm', _CONFIRM)).get('ok')}"


async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a yes, whose state somebody will have changed"""
    return await test_input_required_result_request_state(ctx)


async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three questions of three kinds at once"""
    asked = (_elicit(ctx, "What is your name?", _text_field("name")), _sample(ctx, "Generate a greeting"))
    await asyncio.gather(*asked, _count_roots(ctx))
    return "All inputs received."


async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask twice, one after the other"""
    name = (await _elicit(ctx, "Step 1: What is your name?", _text_field("name"))).get("name")
    color = (await _elicit(ctx, "Step 2: What is your favorite color?", _text_field("color"))).get("color")
    return f"{name} likes {color}."


async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask only what the client said it can be asked"""
    can = ctx.session.client_capabilities
    if can is not None and can.sampling is not None:
        await _sample(ctx, "Say hello")
    if can is not None and can.elicitation is not None:
        await _elicit(ctx, "What is your name?", _text_field("name"))
    return "Asked what could be asked."


async def test_trigger_tool_change(ctx: Context) -> str:
    """Say that the tools changed"""
    await ctx.session.send_tool_list_changed()
    return "tool list changed"


async def test_trigger_prompt_change(ctx: Context) -> str:
    """Say that the prompts changed"""
    await ctx.session.send_prompt_list_changed()
    return "prompt list changed"


async def test_input_required_result_prompt(ctx: Context) -> list[UserMessage]:
    """A prompt that asks for its context"""
    given = (await _elicit(ctx, "What context should the prompt use?", _text_field("context"))).get("context")
    return [UserMessage(role="user", content=TextContent(type="text", text=f"Use the following context: {given}"))]


_TOOLS: tuple[Callable[..., Any], ...] = (  # Any: what a tool returns
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_trigger_tool_change,
    test_trigger_prompt_change,
)
