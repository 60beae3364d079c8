"""under_contract: the one call that holds an existing server to what its tools declare."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from handfast.core.call.exchange import Recorder
from handfast.core.call.policy import InputPolicy, Mode, OutputPolicy, Posture, ToolPolicy, UnknownArguments
from handfast.toolkit.writing.schemas import ContractError

S = TypeVar("S")
Chosen = TypeVar("Chosen", bound=StrEnum)


def under_contract(
    server: S,
    *,
    input: Mode | str = Mode.STRICT,  # noqa: A002 - what the settings call it
    output: Mode | str = Mode.STRICT,
    unknown_arguments: UnknownArguments | str = UnknownArguments.REJECT_ALL,
    lenient_scalars: bool = False,
    uncompilable_schema: Posture | str | None = None,
    recorder: Recorder | None = None,
    state: Path | str | None = None,
) -> S:
    """Judges and records every tools/call of an MCPServer, a low-level Server or a FastMCP server, which it returns.

    Its tools stay unchanged. `uncompilable_schema` None: strict refuses what an unusable schema cannot judge. `state`
    is the folder for records, else HANDFAST_STATE or the platform's state folder. Raises: ContractError.
    """
    attach = _attach_of(server)
    middleware: list[object] = server.middleware  # type: ignore[attr-defined]  # all that are supported have it
    if any(type(each).__module__.startswith(f"{__package__}.") for each in middleware):
        raise ContractError("This server is under the contract already. Call under_contract once, where it is made.")
    posture = None if uncompilable_schema is None else _chosen(Posture, "uncompilable_schema", uncompilable_schema)
    policy = ToolPolicy(
        InputPolicy(
            mode=_chosen(Mode, "input", input),
            unknown_arguments=_chosen(UnknownArguments, "unknown_arguments", unknown_arguments),
            lenient_scalars=lenient_scalars,
            uncompilable_schema=posture,
        ),
        OutputPolicy(mode=_chosen(Mode, "output", output), uncompilable_schema=posture),
    )
    from handfast.toolkit.adapters.judging import Judge

    attach(server, Judge(server.name, policy, recorder=recorder, state=state))  # type: ignore[attr-defined]  # as above
    return server


def _attach_of(server: object) -> Any:  # Any: a function that takes such a server and a judge
    from mcp.server.lowlevel import Server  # imported late, so that writing tools does not load a server
    from mcp.server.mcpserver import MCPServer

    if isinstance(server, MCPServer | Server):
        from handfast.toolkit.adapters import sdk_server

        return sdk_server.attach_contract
    fastmcp = sys.modules.get("fastmcp.server.server")  # loaded already if the server is a FastMCP
    if fastmcp is not None and isinstance(server, fastmcp.FastMCP):
        from handfast.toolkit.adapters import fastmcp_server

        return fastmcp_server.attach_contract
    raise ContractError(
        f"under_contract knows MCPServer and lowlevel.Server of mcp 2 and FastMCP of fastmcp 4, and not a "
        f"{type(server).__name__}. Hand it the server object itself; a Toolbox keeps its contract without it."
    )


def _chosen(kind: type[Chosen], name: str, value: str) -> Chosen:
    try:
        return kind(value)
    except ValueError:
        choices = ", ".join(repr(member.value) for member in kind)
        raise ContractError(f"{name} must be one of {choices}.") from None
