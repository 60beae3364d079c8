"""The meaning of each error code: the closed set, and the codes that a server declares when it is built."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from handfast.core.answers.errors import ErrorCode

INVALID_ARGUMENT: Final = "invalid_argument"
GUARDRAIL_VIOLATED: Final = "guardrail_violated"
NOT_SUPPORTED: Final = "not_supported"
NOT_FOUND: Final = "not_found"
CONFLICT: Final = "conflict"
HANDLER_FAILURE: Final = "handler_failure"
DOMAIN_CODES: Final = frozenset(
    (INVALID_ARGUMENT, GUARDRAIL_VIOLATED, NOT_SUPPORTED, NOT_FOUND, CONFLICT, HANDLER_FAILURE)
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A code's domain code in the `status` envelope, and whether a changed call may succeed."""

    domain_code: str
    is_recoverable: bool


CORE_MEANINGS: Final[Mapping[ErrorCode, Meaning]] = MappingProxyType(
    {
        ErrorCode.INVALID_INPUT: Meaning(INVALID_ARGUMENT, True),
        ErrorCode.NOT_FOUND: Meaning(NOT_FOUND, True),
        ErrorCode.CONFLICT: Meaning(CONFLICT, True),
        ErrorCode.STATE_ERROR: Meaning(CONFLICT, True),
        ErrorCode.GUARDRAIL_VIOLATED: Meaning(GUARDRAIL_VIOLATED, True),
        ErrorCode.PERMISSION_ERROR: Meaning(GUARDRAIL_VIOLATED, False),
        ErrorCode.NOT_SUPPORTED: Meaning(NOT_SUPPORTED, False),
        ErrorCode.NOT_IMPLEMENTED: Meaning(NOT_SUPPORTED, False),
        ErrorCode.OUTPUT_VIOLATION: Meaning(HANDLER_FAILURE, False),
        ErrorCode.UPSTREAM_ERROR: Meaning(HANDLER_FAILURE, True),
        ErrorCode.UNAVAILABLE: Meaning(HANDLER_FAILURE, True),
        ErrorCode.TIMEOUT: Meaning(HANDLER_FAILURE, True),
        ErrorCode.CANCELLED: Meaning(HANDLER_FAILURE, False),
        ErrorCode.INTERNAL_ERROR: Meaning(HANDLER_FAILURE, False),
    }
)

# For a `status` payload of another server with only a domain code: the most general code of that domain.
CODE_OF_DOMAIN: Final[Mapping[str, ErrorCode]] = MappingProxyType(
    {
        INVALID_ARGUMENT: ErrorCode.INVALID_INPUT,
        GUARDRAIL_VIOLATED: ErrorCode.GUARDRAIL_VIOLATED,
        NOT_SUPPORTED: ErrorCode.NOT_SUPPORTED,
        NOT_FOUND: ErrorCode.NOT_FOUND,
        CONFLICT: ErrorCode.CONFLICT,
        HANDLER_FAILURE: ErrorCode.INTERNAL_ERROR,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCode:
    """A code that a server declares. `is_reserved`: no tool fails with it yet, but callers may already know it."""

    name: str
    is_recoverable: bool = True
    domain_code: str = HANDLER_FAILURE
    is_reserved: bool = False


class CodeBook:
    """Every code that one server may fail with, fixed when the server is built. Raises: ValueError."""

    def __init__(self, declared: Iterable[DeclaredCode | str] = ()) -> None:
        if isinstance(declared, str):
            raise ValueError("codes is one text; put the names into a list.")
        meanings: dict[str, Meaning] = {code.value: meaning for code, meaning in CORE_MEANINGS.items()}
        for each in declared:
            own = DeclaredCode(name=each) if isinstance(each, str) else each
            if own.name in meanings:
                raise ValueError(f"The code '{own.name}' is there already; declare only codes of the server's own.")
            if not own.name.isidentifier() or own.name != own.name.lower():
                raise ValueError(f"The code '{own.name}' is not a lower_case name; rename it.")
            if own.domain_code not in DOMAIN_CODES:
                raise ValueError(f"The code '{own.name}' has no known domain code; use one of {sorted(DOMAIN_CODES)}.")
            meanings[own.name] = Meaning(own.domain_code, own.is_recoverable)
        self._meanings: Final = MappingProxyType(meanings)

    def __contains__(self, code: str) -> bool:
        return code in self._meanings

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._meanings)

    def meaning(self, code: str) -> Meaning:
        """The meaning of a code. Raises: KeyError, for a code that was not declared."""
        return self._meanings[code]
