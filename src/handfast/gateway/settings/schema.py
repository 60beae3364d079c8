"""The JSON Schema of the settings file, made from the same table that checks it."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from handfast.gateway.settings.blocks import Activity, Auth, Limits, Listening, Tls
from handfast.gateway.settings.keys import BLOCKS, FLAT_KEYS, POLICY_BLOCKS, SERVER_KEYS, Key

_Shape = list[tuple[str, Any, Any]]  # Any: typing forms and defaults, made at runtime

_SPELLINGS = ["stdio", "http", "streamable-http", "streamable_http", "streamableHttp", "sse"]
_TEXT_OF_VARIABLES = "`${NAME}` and `${NAME:-default}` are filled in from the environment, `${file:PATH}` from a file."


def settings_schema() -> dict[str, object]:
    """A JSON Schema (2020-12) that refuses unknown keys in our blocks and leaves those of other clients alone."""
    schema = msgspec.json.schema(_file_shape())
    root = schema["$defs"].pop("SettingsFile")
    entry = schema["$defs"]["ServerEntry"]
    entry["oneOf"] = [{"required": ["command"]}, {"required": ["url"]}]
    # A policy written beside the block, not in it, would be overlooked.
    entry["properties"] |= dict.fromkeys(POLICY_BLOCKS, False)
    root["properties"] |= {"handfast": False}
    names = {
        "propertyNames": {
            "pattern": "^[A-Za-z0-9_.-]{1,64}$",
            "not": {"pattern": r"__|_$|^\.+$"},
        }
    }
    for block in ("mcpServers", "servers"):
        root["properties"][block] |= names
    root["oneOf"] = [{"required": ["mcpServers"]}, {"required": ["servers"]}]
    del root["required"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "title": "Settings of handfast",
        "$defs": schema["$defs"],
    }


def render_schema() -> str:
    """The schema as it is published."""
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


def _file_shape() -> type[Struct]:
    nested = [
        (name, _struct(f"{_title(name)}Overrides", _inherited(BLOCKS[name])) | UnsetType, UNSET)
        for name in POLICY_BLOCKS
    ]
    tool = _struct("ToolEntry", [*nested, *_inherited(FLAT_KEYS)])
    tools = Annotated[dict[str, tool] | UnsetType, Meta(description="A tool's own settings, by its name.")]  # type: ignore[valid-type]  # made at runtime
    own = _struct(
        "ServerBlock", [*nested, *_inherited(FLAT_KEYS), *_with_defaults(SERVER_KEYS), ("tools", tools, UNSET)]
    )
    blocks: dict[str, type[Struct]] = {
        name: _struct(_title(name), _with_defaults(BLOCKS[name])) for name in POLICY_BLOCKS
    }
    blocks |= {"auth": Auth, "tls": Tls, "activity": Activity, "limits": Limits}
    servers = dict[str, _entry_shape(own)]  # type: ignore[valid-type, misc]  # made at runtime
    top: _Shape = [("mcpServers", servers, UNSET), ("servers", servers, UNSET)]
    top += [(name, struct | UnsetType, UNSET) for name, struct in blocks.items()]
    top += [(entry.name, entry.type, entry.default) for entry in msgspec.structs.fields(Listening)]
    return _struct("SettingsFile", top, is_open=True)


def _entry_shape(own: type[Struct]) -> type[Struct]:
    text = Annotated[str, Meta(min_length=1, description=_TEXT_OF_VARIABLES)]
    transport = Annotated[str, Meta(extra_json_schema={"enum": _SPELLINGS})]
    shape: _Shape = [
        ("command", text, UNSET),
        ("args", list[str], UNSET),
        ("env", dict[str, str], UNSET),
        ("cwd", text, UNSET),
        ("url", text, UNSET),
        ("headers", dict[str, str], UNSET),
        ("type", transport, UNSET),
        ("transport", transport, UNSET),
        ("disabled", bool, False),
        ("handfast", own, UNSET),
    ]
    return _struct("ServerEntry", [(name, form | UnsetType, default) for name, form, default in shape], is_open=True)


def _inherited(keys: Mapping[str, Key]) -> _Shape:
    """Without defaults: what a server or tool does not set, it takes from the level above."""
    return [(key.name, key.type | UnsetType, UNSET) for key in keys.values()]


def _with_defaults(keys: Mapping[str, Key]) -> _Shape:
    return [(key.name, key.type, key.default) for key in keys.values()]


def _struct(name: str, shape: _Shape, *, is_open: bool = False) -> type[Struct]:
    return msgspec.defstruct(name, shape, kw_only=True, frozen=True, forbid_unknown_fields=not is_open)


def _title(block: str) -> str:
    return block.title().replace("_", "")
