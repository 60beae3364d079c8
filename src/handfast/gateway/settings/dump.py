"""Turns settings back into the shape of the file, masked, to show them."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from urllib.parse import urlsplit

from msgspec import Struct

from handfast.core.call.policy import Overrides
from handfast.core.words.redaction import scrub_text
from handfast.gateway.settings import TracedSettings
from handfast.gateway.settings.keys import GLOBAL_KEYS, POLICY_BLOCKS, SERVER_KEYS
from handfast.gateway.settings.server import ServerSettings, Transport

MASK = "***"


def masked_settings(traced: TracedSettings) -> dict[str, object]:
    """What is in force, each global value with its origin, and nothing that could be a secret."""
    settings = traced.settings
    shown: dict[str, object] = {}
    for dotted, key in GLOBAL_KEYS.items():
        holder = getattr(settings, key.block) if key.block else settings
        value = plain_value(getattr(holder, key.name))
        if dotted == "activity.store" and isinstance(value, str):
            value = masked_url(value) if "://" in value else value
        shown[dotted] = {"value": value, "origin": traced.origins[dotted].value}
    return {"settings": shown, "servers": {name: _masked(server) for name, server in settings.servers.items()}}


def masked_url(url: str) -> str:
    """Scheme and host; user, path and query may each hold a token."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return MASK
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}/{MASK}"


def _masked(server: ServerSettings) -> dict[str, object]:
    shown = render_server(server, lambda _: MASK)
    shown["transport"] = server.transport.value
    if server.command is not None:
        shown["command"] = scrub_text(server.command)  # may be a whole command line, with a token in it
    if server.cwd is not None:
        shown["cwd"] = server.cwd
    if server.url is not None:
        shown["url"] = masked_url(server.url)
    return shown


def render_server(server: ServerSettings, text: Callable[[str], str]) -> dict[str, object]:
    """Renders an entry of `mcpServers`; `text` renders what may hold a secret."""
    launch: dict[str, object] = {
        "command": text(server.command) if server.command is not None else None,
        "args": [text(item) for item in server.args],
        "env": {name: text(value) for name, value in server.env.items()},
        "cwd": text(server.cwd) if server.cwd is not None else None,
        "url": text(server.url) if server.url is not None else None,
        "headers": {name: text(value) for name, value in server.headers.items()},
        "disabled": server.disabled,
        "type": "sse" if server.transport is Transport.SSE else None,
    }
    entry = {name: value for name, value in launch.items() if value}
    own: dict[str, object] = _overrides(server.overrides)
    own |= {name: plain_value(getattr(server, name)) for name in SERVER_KEYS}
    own["tools"] = {tool: _overrides(overrides) for tool, overrides in server.tools.items()}
    return {**entry, "handfast": own}


def _overrides(overrides: Overrides) -> dict[str, object]:
    sides: tuple[Mapping[str, object], ...] = (overrides.input, overrides.output)
    return {
        block: {name: plain_value(value) for name, value in side.items()}
        for block, side in zip(POLICY_BLOCKS, sides, strict=True)
        if side
    }


def plain_value(value: object) -> object:
    """A value as JSON writes it; sets in a stable order."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, Struct):
        return {name: plain_value(getattr(value, name)) for name in value.__struct_fields__}
    return value.value if isinstance(value, StrEnum) else value
