"""The servers of the settings file: their names, their entries, and their own `handfast` blocks."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from handfast.core.call.policy import INPUT_KEYS, Overrides
from handfast.gateway.settings.blocks import Isolation
from handfast.gateway.settings.check import check_block, take_value, unknown_key
from handfast.gateway.settings.keys import AMBIGUOUS_KEYS, BLOCKS, FLAT_KEYS, POLICY_BLOCKS, SERVER_KEYS
from handfast.gateway.settings.problems import Findings, Rank, Where, nearest
from handfast.gateway.settings.server import (
    LAUNCH_KEYS,
    EntryReader,
    ServerSettings,
    Transport,
    check_forwarded,
    read_launch,
)

# VS Code calls the same object `servers`.
SERVER_BLOCKS = ("mcpServers", "servers")
_ZED_BLOCK = "context_servers"
SERVER_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
_OWN_IN_ENTRY = ("handfast", *POLICY_BLOCKS)
# Keys without which a server would still start or be called, but wrongly: a misspelt one must be reported.
_NEEDED_IN_ENTRY = ("args", "env", "headers", "cwd")
_CALLED_ELSEWHERE = {
    "serverUrl": 'is what Windsurf calls "url"; rename it',
    "httpUrl": 'is what Gemini calls "url"; rename it',
    "environment": 'is what some clients call "env"; rename it',
}


def read_servers(
    document: Mapping[str, object], environ: Mapping[str, str], findings: Findings, *, needs_servers: bool
) -> Mapping[str, ServerSettings]:
    """Returns every server by name; what is wrong is noted and left out."""
    present = [name for name in SERVER_BLOCKS if name in document]
    if len(present) > 1:
        findings.add((present[1],), f"stands beside {present[0]}, which is the same thing; keep one of them")
    if _ZED_BLOCK in document:
        findings.add((_ZED_BLOCK,), f'is what Zed calls "{SERVER_BLOCKS[0]}"; rename it', rank=Rank.KEY)
    if not present:
        if needs_servers and _ZED_BLOCK not in document:
            findings.add((), 'has no "mcpServers"; add it: {"mcpServers": {"name": {"command": …}}}', rank=Rank.MISSING)
        return MappingProxyType({})
    block = document[present[0]]
    if not isinstance(block, dict):
        findings.add((present[0],), 'must be an object such as {"files": {"command": …}}')
        return MappingProxyType({})
    _check_names(block, (present[0],), findings)
    servers = {}
    for name, entry in block.items():
        server = _read_server(entry, (present[0], name), environ, findings=findings)
        if server is not None:
            servers[name] = server
    return MappingProxyType(servers)


def name_problem(name: str) -> str | None:
    """Returns why a server may not have this name, or None.

    Tools of all servers together are named `server__tool`. That can be read in one way only if a server's name has no
    `__` inside and no `_` at the end: `a` with `_x` and `a_` with `x` would both be `a___x`.
    """
    if not SERVER_NAME.match(name) or not name.strip("."):
        return "is not a server name; use 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore"
    if "__" in name or name.endswith("_"):
        return 'is not a server name; "__" separates server and tool, so it may not hold "__" or end with "_"'
    return None


def _check_names(block: Mapping[str, object], where: Where, findings: Findings) -> None:
    seen: dict[str, str] = {}
    for name in block:
        problem = name_problem(name)
        if problem:
            findings.add((*where, name), problem, rank=Rank.KEY)
        elif name.lower() in seen:
            findings.add((*where, name), f"differs from {seen[name.lower()]} only by case; rename one", rank=Rank.KEY)
        seen.setdefault(name.lower(), name)


def _read_server(
    entry: object, where: Where, environ: Mapping[str, str], *, findings: Findings
) -> ServerSettings | None:
    if not isinstance(entry, dict):
        findings.add(where, "must be an object with a command or a url")
        return None
    _check_misplaced(entry, where, findings)
    server = read_launch(EntryReader(entry, where, environ, findings))
    return _with_own_block(server, entry.get("handfast", {}), (*where, "handfast"), findings)


def _check_misplaced(entry: Mapping[str, object], where: Where, findings: Findings) -> None:
    """Reports misplaced or misspelt policies, tokens and variables; other keys of other clients are left alone."""
    for name in entry:
        if name in POLICY_BLOCKS:
            findings.add((*where, name), 'belongs inside the server\'s "handfast" block; move it', rank=Rank.KEY)
        elif name in _CALLED_ELSEWHERE:
            findings.add((*where, name), _CALLED_ELSEWHERE[name], rank=Rank.KEY)
        elif name not in (*LAUNCH_KEYS, "handfast") and (meant := nearest(name, (*_OWN_IN_ENTRY, *_NEEDED_IN_ENTRY))):
            findings.add((*where, name), f'is not a setting; did you mean "{meant}"?', rank=Rank.KEY)


def _with_own_block(server: ServerSettings, block: object, where: Where, findings: Findings) -> ServerSettings:
    if not isinstance(block, dict):
        findings.add(where, 'must be an object such as {"output_validation": {"mode": "strict"}}')
        return server
    options: dict[str, Any] = {}  # Any: values parsed to the types of ServerSettings
    for name in SERVER_KEYS.keys() & block.keys():
        take_value(SERVER_KEYS[name], block[name], (*where, name), findings=findings, into=options)
    check_forwarded(options.get("forward_headers", ()), (*where, "forward_headers"), findings)
    if server.transport is Transport.SSE and options.get("forward_headers"):
        if options.get("isolation") is Isolation.SHARED:
            findings.add(
                (*where, "isolation"),
                "is shared, and with sse forward_headers need a stream for each client; remove one",
            )
        options["isolation"] = Isolation.SESSION
    own = {name: value for name, value in block.items() if name not in SERVER_KEYS and name != "tools"}
    overrides = _read_overrides(own, where, findings, known=(*POLICY_BLOCKS, *FLAT_KEYS, "mode", *SERVER_KEYS, "tools"))
    tools = _read_tools(block.get("tools", {}), (*where, "tools"), findings)
    return replace(server, overrides=overrides, tools=tools, **options)


def _read_tools(block: object, where: Where, findings: Findings) -> Mapping[str, Overrides]:
    if not isinstance(block, dict):
        findings.add(where, 'must be an object such as {"create_issue": {"unknown_arguments": "reject_all"}}')
        return MappingProxyType({})
    if "" in block:
        findings.add(where, "has an entry with an empty name; write the tool's name")
    known = (*POLICY_BLOCKS, *FLAT_KEYS, "mode")
    return MappingProxyType(
        {tool: _read_overrides(entry, (*where, tool), findings, known=known) for tool, entry in block.items()}
    )


def _read_overrides(block: object, where: Where, findings: Findings, *, known: tuple[str, ...]) -> Overrides:
    """Reads what one level sets itself: keys of both policy blocks, flat where the name is clear, or nested."""
    values: dict[str, dict[str, object]] = {name: {} for name in POLICY_BLOCKS}
    if not isinstance(block, dict):
        findings.add(where, 'must be an object such as {"unknown_arguments": "reject_all"}')
        block = {}
    for name in POLICY_BLOCKS:
        if name in block:
            values[name] = check_block(block[name], BLOCKS[name], (*where, name), findings)
    for name, value in block.items():
        if name not in POLICY_BLOCKS:
            _take_flat(name, value, where, findings=findings, values=values, known=known)
    return Overrides(*(MappingProxyType(values[name]) for name in POLICY_BLOCKS))


def _take_flat(
    name: str,
    value: object,
    where: Where,
    *,
    findings: Findings,
    values: dict[str, dict[str, object]],
    known: tuple[str, ...],
) -> None:
    if name in AMBIGUOUS_KEYS:
        choices = " or ".join(f'"{block}": {{"{name}": …}}' for block in POLICY_BLOCKS)
        findings.add((*where, name), f"could mean either side; write {choices}", rank=Rank.KEY)
        return
    if name not in FLAT_KEYS:
        findings.add((*where, name), unknown_key(name, known), rank=Rank.KEY)
        return
    side = POLICY_BLOCKS[0] if name in INPUT_KEYS else POLICY_BLOCKS[1]
    if name in values[side]:
        findings.add((*where, name), f"is also written inside {side}; keep one of them")
        return
    take_value(FLAT_KEYS[name], value, (*where, name), findings=findings, into=values[side])
