"""Every setting as one table, from which the checks, the variables, the schema and the reference are made."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from handfast.core.call.policy import INPUT_KEYS, OUTPUT_KEYS, InputPolicy, OutputPolicy
from handfast.gateway.settings.blocks import Activity, Auth, Limits, Listening, ServerOptions, Tls

_POLICY_METAS: Mapping[str, Meta] = {
    "input.mode": Meta(
        description="What is done about arguments that do not fit the tool's schema: nothing, record, or refuse."
    ),
    "input.unknown_arguments": Meta(
        description="Undeclared arguments that are refused in warn and strict alike: only what the schema itself "
        "forbids, undeclared objects, or all."
    ),
    "input.ignore": Meta(description="Argument names that are never called unknown."),
    "input.errors": Meta(
        description="How a refused call is answered: a tool result the model reads, or a JSON-RPC error."
    ),
    "input.lenient_scalars": Meta(description='Accept `"5"` where a number and `"true"` where a boolean is declared.'),
    "input.formats": Meta(
        description="Whether `format` in a tool's input schema only describes, or is held to: `date`, `uri`, `email` "
        "and the others that JSON Schema defines."
    ),
    "input.unknown_tools": Meta(
        description="Whether calls of tools that the server does not list are forwarded or refused; null refuses them "
        "where a mode is strict."
    ),
    "input.uncompilable_schema": Meta(
        description="Whether a call may pass that its tool's schema cannot judge, because it cannot be compiled; "
        "null: in warn it may, in strict not. Undeclared names and wrappers are judged all the same."
    ),
    "output.mode": Meta(
        description="What is done about results that do not fit the tool's schema: nothing, record, or block."
    ),
    "output.max_bytes": Meta(ge=1, le=1024**3, description="The largest structured result."),
    # Deeper than 500 a decoder may run out of stack before a limit is reached.
    "output.max_depth": Meta(ge=1, le=500, description="The deepest nesting of a structured result."),
    "output.formats": Meta(description="The same for results and the output schema."),
    "output.missing_structured_content": Meta(
        description="What strict does when a schema is declared and the result has no structured content."
    ),
    "output.uncompilable_schema": Meta(
        description="Whether a result may pass that its tool's schema cannot judge, because it cannot be compiled; "
        "null: in warn it may, in strict not."
    ),
    "output.guards_without_schema": Meta(
        description="Apply max_bytes and max_depth to tools without an output schema too."
    ),
}


@dataclass(frozen=True, slots=True)
class Key:
    """One setting, wherever it is written: file, environment or flag."""

    block: str  # empty for the keys beside the blocks
    name: str
    type: Any  # Any: a typing form such as Annotated[int, Meta(ge=1)]
    default: object
    description: str

    @property
    def dotted(self) -> str:
        return f"{self.block}.{self.name}" if self.block else self.name

    @property
    def variable(self) -> str:
        return "HANDFAST_" + self.dotted.replace(".", "_").upper()


def _policy_keys(side: str, policy: type[InputPolicy | OutputPolicy]) -> dict[str, Key]:
    """Takes names, types and defaults from the policy itself, so that the two cannot drift apart."""
    keys = {}
    for entry in fields(policy):
        meta = _POLICY_METAS[f"{side}.{entry.name}"]
        assert entry.default is not MISSING  # every policy key has a default: a policy is never incomplete
        annotated = Annotated[entry.type, meta]  # type: ignore[name-defined]  # a form made at runtime, for msgspec
        keys[entry.name] = Key(f"{side}_validation", entry.name, annotated, entry.default, meta.description or "")
    return keys


def _struct_keys(block: str, struct: type[Struct]) -> dict[str, Key]:
    keys = {}
    for entry in msgspec.structs.fields(struct):
        keys[entry.name] = Key(block, entry.name, entry.type, entry.default, _description(entry.type))
    return keys


def _description(form: Any) -> str:  # Any: a typing form
    return next(meta.description or "" for meta in reversed(form.__metadata__) if isinstance(meta, Meta))


BLOCKS: Mapping[str, Mapping[str, Key]] = {
    "input_validation": _policy_keys("input", InputPolicy),
    "output_validation": _policy_keys("output", OutputPolicy),
    "auth": _struct_keys("auth", Auth),
    "tls": _struct_keys("tls", Tls),
    "activity": _struct_keys("activity", Activity),
    "limits": _struct_keys("limits", Limits),
}
TOP_KEYS: Mapping[str, Key] = _struct_keys("", Listening)
GLOBAL_KEYS: Mapping[str, Key] = {key.dotted: key for keys in (*BLOCKS.values(), TOP_KEYS) for key in keys.values()}
POLICY_BLOCKS = ("input_validation", "output_validation")
# The same name in both policy blocks: written flat it could mean either.
AMBIGUOUS_KEYS = INPUT_KEYS & OUTPUT_KEYS
FLAT_KEYS: Mapping[str, Key] = {
    name: key for block in POLICY_BLOCKS for name, key in BLOCKS[block].items() if name not in AMBIGUOUS_KEYS
}
SERVER_KEYS: Mapping[str, Key] = _struct_keys("", ServerOptions)
