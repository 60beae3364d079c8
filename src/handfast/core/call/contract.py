"""ToolContract: one tool's schemas and annotations as its server declared them, with a fingerprint for changes."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import msgspec

from handfast.core.access.scopes import ScopeKind, kind_of
from handfast.core.call import rules
from handfast.core.call.policy import Violation
from handfast.core.call.strict_json import Ambiguous, decode_arguments, decode_judged
from handfast.core.schema.compiled import CompiledSchema, SchemaBounds, UncompilableSchema, compile_schema

UNLISTED = Violation(
    rules.CONTRACT_UNLISTED, "The server lists no tool of this name. Take a name from tools/list and call again."
)
LIST_UNAVAILABLE = Violation(
    rules.CONTRACT_UNAVAILABLE,
    "The server's list of tools is not available, so the call cannot be judged. Try again in a moment.",
)

# Bytes of a contract. Parsing a larger one for comparison would delay other calls, so it counts as changed.
_LARGEST_COMPARED = 64 * 1024
_MOST_SPELLINGS = 8  # kept of one contract: SDK versions differ in key order, and a hostile server may shuffle keys


@dataclass(frozen=True, slots=True)
class ToolContract:
    """The declared schemas as the exact JSON text that was received; None if none was declared."""

    name: str
    input_schema: bytes | None
    output_schema: bytes | None
    annotations: bytes | None = None
    description: str = ""
    # Changes when the tool's promise changes; the description is not part of it.
    fingerprint: str = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = (self.name.encode(), self.input_schema, self.output_schema, self.annotations)
        # A length before each part, so that different contracts never give the same bytes.
        framed = b"".join(b"-" if part is None else b"%d:%s" % (len(part), part) for part in parts)
        object.__setattr__(self, "fingerprint", sha256(framed).hexdigest())
        size = sum(len(part) for part in parts if part is not None)
        object.__setattr__(self, "size", size + len(self.description))


class CompiledContract:
    """A contract with its schemas compiled on first use, so that a tool that is never judged costs nothing."""

    def __init__(self, contract: ToolContract, bounds: SchemaBounds) -> None:
        self.contract = contract
        self.fingerprint = contract.fingerprint
        self._bounds = bounds
        self._spellings = {contract.fingerprint}

    def is_spelt_as(self, contract: ToolContract) -> bool:
        """Whether this exact spelling was received before."""
        return contract.fingerprint in self._spellings

    def promises_same_as(self, contract: ToolContract) -> bool:
        """Whether the contract is the same except for key order and spelling of its JSON."""
        if self.is_spelt_as(contract):
            return True
        if max(self.contract.size, contract.size) > _LARGEST_COMPARED or not _promise_alike(self.contract, contract):
            return False
        if len(self._spellings) < _MOST_SPELLINGS:
            self._spellings.add(contract.fingerprint)
        return True

    @cached_property
    def input(self) -> CompiledSchema | UncompilableSchema | None:
        text = self.contract.input_schema
        return None if text is None else compile_schema(text, self._bounds)

    @cached_property
    def is_repeatable(self) -> bool:
        """Whether the annotations say that a second call has no further effect."""
        hints = _hints(self.contract.annotations)
        return any(hints.get(name) is True for name in ("readOnlyHint", "idempotentHint"))

    @cached_property
    def kind(self) -> ScopeKind:
        return kind_of_tool(self.contract.annotations)

    @cached_property
    def output(self) -> CompiledSchema | UncompilableSchema | None:
        text = self.contract.output_schema
        return None if text is None else compile_schema(text, self._bounds)


def kind_of_tool(annotations: bytes | None) -> ScopeKind:
    """The kind of a tool by its annotations, as JSON text. What cannot be read counts as destructive."""
    return kind_of(_hints(annotations))


def _hints(annotations: bytes | None) -> dict[str, object]:
    try:
        hints = decode_judged(annotations or b"null")
    except Ambiguous:
        return {}
    return hints if isinstance(hints, dict) else {}


def _promise_alike(one: ToolContract, other: ToolContract) -> bool:
    return (
        one.name == other.name
        and _say_alike(one.input_schema, other.input_schema)
        and _say_alike(one.output_schema, other.output_schema)
        and _say_alike(one.annotations, other.annotations)
    )


def _say_alike(one: bytes | None, other: bytes | None) -> bool:
    """Whether two JSON texts differ at most in key order and spelling."""
    if one is None or other is None or one == other:
        return one == other
    try:
        # Compared as encoded text, because in Python 1, 1.0 and True are equal.
        first, second = (msgspec.json.encode(decode_arguments(text), order="sorted") for text in (one, other))
    except (Ambiguous, ValueError, RecursionError):
        return False
    return first == second
