"""`handfast call SERVER TOOL [ARGUMENTS…]`, or `SERVER__TOOL`: one call through the gateway, for trying things."""

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from handfast.cli.shared.console import CommandFailed, paint, run_command, write
from handfast.cli.shared.options import add_config_flag, add_state_flag, add_timeout_flag, utf8_text, within
from handfast.core.words.printable import escape, escape_text, json_text

if TYPE_CHECKING:  # at run time imported by the command, so that --help stays fast
    from handfast.cli.shared.gateway_session import GatewaySession

_EXAMPLES = """\
examples:
  handfast call memory read_graph
  handfast call contacts create_contact email=ada@example.com first_name=Ada
  handfast call contacts create_contact '{"email": "ada@example.com"}'
  handfast call memory__read_graph         (by its name at /mcp)
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "call",
        help="call one tool through the gateway",
        usage="handfast call SERVER TOOL [ARGUMENTS ...] [--url URL] [--config FILE] [--state DIR]\n"
        "                     [--timeout SECONDS] [-o text|json]",
        description="Call a tool through the running gateway; where none runs, one is started for this call alone.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("server", type=utf8_text, help="the server's name in the settings, or SERVER__TOOL")
    parser.add_argument("tool", nargs="?", type=utf8_text, help="the tool's name; `handfast tools SERVER` lists them")
    parser.add_argument(
        "arguments",
        nargs="*",
        default=[],
        help="a JSON object, or name=value pairs (values: JSON or text, as the tool declares them)",
    )
    add_connection_flags(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text (default) or json")
    parser.set_defaults(run=run)


def add_connection_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        type=utf8_text,
        help="the gateway's address (default: HANDFAST_URL, the settings' listen address)",
    )
    add_config_flag(parser)
    add_state_flag(parser)
    add_timeout_flag(parser)


def run(args: argparse.Namespace) -> int:
    from handfast.cli.shared.running import run_async

    def call() -> int:
        target = read_target(args.server, [*([] if args.tool is None else [args.tool]), *args.arguments])
        return run_async(within(args.timeout, _call(args, target, read_arguments(target.arguments))))

    return run_command(call)


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The server and tool that a call is for."""

    server: str
    path: str  # where the tool has this name
    tool: str
    arguments: list[str]


def read_target(name: str, words: list[str]) -> CallTarget:
    """Reads a server and its tool, or the tool's name at `/mcp`: a server's name never has `__`.

    Raises: CommandFailed.
    """
    server, border, _tool = name.partition("__")
    if border:
        return CallTarget(server, f"/mcp?servers={quote(server, safe='')}", name, words)
    if not words:
        raise CommandFailed("call needs a tool after the server, or SERVER__TOOL; see: handfast call --help", 2)
    return CallTarget(server, f"/mcp/{server}", words[0], words[1:])


def read_arguments(given: list[str]) -> Any:  # Any: JSON
    """The arguments, to be sent as typed: the gateway judges them, not this command. Raises: CommandFailed."""
    if len(given) == 1 and given[0].lstrip().startswith("{"):
        value = _value(given[0])
        if isinstance(value, str):
            raise CommandFailed("the arguments are not valid JSON. Quote them for the shell, as in '{\"a\": 1}'.", 2)
        return value
    pairs: dict[str, Any] = {}  # Any: JSON
    for item in given:
        name, equals, text = item.partition("=")
        if not equals or not name:
            raise CommandFailed(f"'{item}' is neither name=value nor a JSON object", 2)
        if name in pairs:
            raise CommandFailed(f"'{name}' is given twice. Give each argument once.", 2)
        pairs[name] = _value(text)
    return pairs


def _value(text: str) -> Any:  # Any: JSON
    """Raw JSON, else the text: `json.loads` would read 1e400 as infinity and keep one of two equal keys."""
    import msgspec

    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise CommandFailed("the arguments are not UTF-8. Write them in UTF-8 and call again.", 2) from None
    try:
        msgspec.json.decode(raw, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return text
    return msgspec.Raw(raw)


def fit_to_schema(pairs: dict[str, Any], schema: object) -> dict[str, Any]:  # Any: JSON
    """`expression=5` is the text "5" where the tool declares text and nothing else."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    declared = properties if isinstance(properties, dict) else {}
    return {
        name: bytes(value).decode() if _is_bare(value) and _is_text(declared.get(name), bytes(value)) else value
        for name, value in pairs.items()
    }


def _is_bare(value: object) -> bool:
    """Whether a value that was read as JSON may be meant as text: 5 and true may be, "5" and [5] are not."""
    import msgspec

    return isinstance(value, msgspec.Raw) and not bytes(value).lstrip().startswith((b'"', b"{", b"["))


def _is_text(declared: object, value: bytes) -> bool:
    if not isinstance(declared, dict):
        return False
    branches = declared.get("anyOf", declared.get("oneOf"))
    if isinstance(branches, list) and branches:
        found = [branch.get("type") if isinstance(branch, dict) else None for branch in branches]
    else:
        named = declared.get("type")
        found = named if isinstance(named, list) else [named]
    is_null = value == b"null" and "null" in found
    return "string" in found and not is_null and all(one in ("string", "null") for one in found)


async def _fit(session: "GatewaySession", tool: str, arguments: Any) -> Any:  # Any: JSON
    from handfast.cli.tools import fetch_tools

    if not isinstance(arguments, dict) or not any(map(_is_bare, arguments.values())):
        return arguments
    try:
        tools = await fetch_tools(session)
    except CommandFailed:
        return arguments  # the gateway judges them all the same
    return fit_to_schema(arguments, next((each.get("inputSchema") for each in tools if each.get("name") == tool), None))


async def _call(args: argparse.Namespace, target: CallTarget, arguments: Any) -> int:  # Any: JSON
    from handfast.cli.shared.gateway_session import open_session, reason_of

    async with open_session(args, target.server, target.path) as session:
        arguments = await _fit(session, target.tool, arguments)
        answer = await session.ask("tools/call", {"name": target.tool, "arguments": arguments})
    if args.output == "json":
        write(json_text(answer.get("result", answer)))
    if "error" in answer:
        raise CommandFailed(reason_of(answer, "the call failed"))
    result = answer["result"]
    is_error = result.get("isError") is True
    if args.output == "text":
        _write_result(result, is_error=is_error)
    return 1 if is_error else 0


def _write_result(result: dict[str, Any], *, is_error: bool) -> None:  # Any: JSON
    if is_error:
        sys.stderr.write(paint("The call failed:", "red") + "\n")
    content = result.get("content", [])
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            write("[unknown content]")
        elif block.get("type") == "text":
            write(escape_text(str(block.get("text", ""))))
        else:
            write(escape(f"[{block.get('type', 'unknown')} content]"))
    if not result.get("content") and "structuredContent" in result:
        write(json_text(result["structuredContent"]))
