"""How strictly a tool is held to its contract: modes and postures, resolved global → server → tool; and decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from handfast.core.words.wording import Fact


class Mode(StrEnum):
    """off: nothing is judged. warn: violations are forwarded and recorded. strict: violations are blocked."""

    OFF = "off"
    WARN = "warn"
    STRICT = "strict"


_OFF = Mode.OFF  # read several times a call; access through the enum takes five times as long


class UnknownArguments(StrEnum):
    """Which undeclared arguments are refused, in warn and strict alike."""

    SCHEMA = "schema"  # only those that the schema itself refuses
    REJECT_OBJECTS = "reject_objects"  # undeclared objects: the nested-wrapper rule
    REJECT_ALL = "reject_all"


class InputErrors(StrEnum):
    """How a refused call is answered: a tool result the model reads, or a JSON-RPC error."""

    RESULT = "result"
    PROTOCOL = "protocol"


class Formats(StrEnum):
    """What `format` in a schema does: JSON Schema's own default is that it only annotates."""

    ANNOTATE = "annotate"
    ASSERT = "assert"


class Posture(StrEnum):
    """What strict mode does about something that is absent or unusable rather than wrong."""

    ALLOW = "allow"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputPolicy:
    mode: Mode = Mode.WARN
    unknown_arguments: UnknownArguments = UnknownArguments.REJECT_OBJECTS
    ignore: frozenset[str] = frozenset()
    errors: InputErrors = InputErrors.RESULT
    lenient_scalars: bool = False
    formats: Formats = Formats.ANNOTATE
    unknown_tools: Posture | None = None  # None: blocked if a mode is strict
    uncompilable_schema: Posture | None = None

    @property
    def judges(self) -> bool:
        """Whether arguments are judged: `off` switches every argument rule off."""
        return self.mode is not _OFF

    @property
    def objects_to_unjudged(self) -> bool:
        """Whether arguments that the schema cannot judge are a violation: as the posture says, else in strict mode."""
        return _objects(self.uncompilable_schema, self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPolicy:
    mode: Mode = Mode.WARN
    max_bytes: int = 5 * 1024 * 1024
    max_depth: int = 64
    formats: Formats = Formats.ANNOTATE
    missing_structured_content: Posture = Posture.ALLOW
    uncompilable_schema: Posture | None = None
    guards_without_schema: bool = False

    @property
    def judges(self) -> bool:
        return self.mode is not _OFF

    @property
    def objects_to_unjudged(self) -> bool:
        """Whether a result that the schema cannot judge is a violation, as for arguments."""
        return _objects(self.uncompilable_schema, self.mode)


def _objects(posture: Posture | None, mode: Mode) -> bool:
    return mode is Mode.STRICT if posture is None else posture is Posture.BLOCK


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The resolved policy of one tool."""

    input: InputPolicy = InputPolicy()
    output: OutputPolicy = OutputPolicy()
    judges: bool = field(init=False, repr=False, compare=False)  # whether arguments or results are judged
    blocks_unknown_tools: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_strict = Mode.STRICT in (self.input.mode, self.output.mode)
        chosen = self.input.unknown_tools
        object.__setattr__(self, "judges", self.input.judges or self.output.judges)
        object.__setattr__(self, "blocks_unknown_tools", is_strict if chosen is None else chosen is Posture.BLOCK)


INPUT_KEYS = frozenset(entry.name for entry in fields(InputPolicy))
OUTPUT_KEYS = frozenset(entry.name for entry in fields(OutputPolicy))


@dataclass(frozen=True, slots=True)
class Overrides:
    """The keys that one level (a server, a tool) sets itself; the values have the policy's types."""

    input: Mapping[str, Any]  # Any: heterogeneous field values, parsed at the settings' edge
    output: Mapping[str, Any]  # Any: as above


def resolve(base: ToolPolicy, *levels: Overrides | None) -> ToolPolicy:
    """Applies each level to the base, the most specific last."""
    policy = base
    for level in levels:
        if level is None:
            continue
        policy = ToolPolicy(replace(policy.input, **level.input), replace(policy.output, **level.output))
    return policy


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule, with a message for the agent or operator that never quotes the caller's values."""

    rule: str
    message: str
    facts: tuple[Fact, ...] = ()  # the same for a program, where it can be said


@dataclass(frozen=True, slots=True)
class Allowed:
    """The decision that no rule objects."""


@dataclass(frozen=True, slots=True)
class Warned:
    """The decision to forward in spite of a violation, with one record."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The decision to stop; `reason` is what the agent reads."""

    rule: str
    reason: str
    facts: tuple[Fact, ...] = ()


Decision = Allowed | Warned | Blocked
ALLOWED = Allowed()
