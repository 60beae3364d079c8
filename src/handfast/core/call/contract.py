"""ToolContract: one tool's promise, as its server declared it, and a fingerprint to notice when it changes."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from handfast.core.call import rules
from handfast.core.call.policy import Violation
from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.core.schema.compiled import CompiledSchema, SchemaBounds, UncompilableSchema, compile_schema

UNLISTED = Violation(
    rules.CONTRACT_UNLISTED, "The server lists no tool of this name. Take a name from tools/list and call again."
)
LIST_UNAVAILABLE = Violation(
    rules.CONTRACT_UNAVAILABLE,
    "The server's list of tools is not to be had, so the call cannot be judged. Try again in a moment.",
)


@dataclass(frozen=True, slots=True)
class ToolContract:
    """The declared schemas as the exact JSON text that was received; None where none was declared."""

    name: str
    input_schema: bytes | None
    output_schema: bytes | None
    annotations: bytes | None = None
    description: str = ""
    # Changes when what the tool promises changes; the description is not a promise.
    fingerprint: str = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = (self.name.encode(), self.input_schema, self.output_schema, self.annotations)
        # A length before each part, so that no two different contracts flow into the same bytes.
        framed = b"".join(b"-" if part is None else b"%d:%s" % (len(part), part) for part in parts)
        object.__setattr__(self, "fingerprint", sha256(framed).hexdigest())
        size = sum(len(part) for part in parts if part is not None)
        object.__setattr__(self, "size", size + len(self.description))


class CompiledContract:
    """A contract with its schemas compiled, each on first need: a tool that is never judged never pays."""

    def __init__(self, contract: ToolContract, bounds: SchemaBounds) -> None:
        self.contract = contract
        self.fingerprint = contract.fingerprint
        self._bounds = bounds

    @cached_property
    def input(self) -> CompiledSchema | UncompilableSchema | None:
        text = self.contract.input_schema
        return None if text is None else compile_schema(text, self._bounds)

    @cached_property
    def is_repeatable(self) -> bool:
        """Whether the tool says that calling it twice does no more than calling it once."""
        try:
            hints = decode_judged(self.contract.annotations or b"null")
        except Ambiguous:
            return False
        return isinstance(hints, dict) and any(hints.get(name) is True for name in ("readOnlyHint", "idempotentHint"))

    @cached_property
    def output(self) -> CompiledSchema | UncompilableSchema | None:
        text = self.contract.output_schema
        return None if text is None else compile_schema(text, self._bounds)
