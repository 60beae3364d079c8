"""The call in progress, the frozen record of it, and the interface of the recorder."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from handfast.core.call.caller import ANYONE, Caller
from handfast.core.call.contract import CompiledContract
from handfast.core.call.policy import ToolPolicy

Detail = str | int | float | bool | None | list[str]


class RecordType(StrEnum):
    TOOL_CALL = "tool_call"
    POLICY_DECISION = "policy_decision"
    CONTRACT_CHANGE = "contract_change"
    SERVER_STATE = "server_state"
    ADMIN_OPERATION = "admin_operation"
    SETTINGS_CHANGE = "settings_change"
    AUTH_FAILURE = "auth_failure"
    DIAGNOSTIC = "diagnostic"


class Status(StrEnum):
    SUCCESS = "success"
    ERROR = "error"
    WARNING = "warning"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One record. Holds names, sizes and keyed hashes, never values of arguments or results."""

    id: str  # sortable: later records have greater ids within one process
    time: str  # UTC, ISO 8601 with microseconds and a trailing Z
    type: RecordType
    status: Status
    server: str = ""
    tool: str = ""
    mode: str = ""
    rule: str = ""
    reason: str = ""
    request_id: str = ""  # links a call to its decisions
    duration_ms: float | None = None
    actor: str = ""
    details: Mapping[str, Detail] = {}


class Tally:
    """Refused calls that are counted in one record. Also a ticket: the calls are durable when that record is."""

    __slots__ = ("bytes", "count", "due", "first", "last_time", "ticket")

    def __init__(self, first: Record, due: float) -> None:
        self.first = first  # the tally's record copies its fields
        self.due = due  # the latest time at which the record is made
        self.count = 0
        self.bytes = 0  # of arguments, held until then
        self.last_time = ""
        self.ticket: int | None = None  # of its record, once that is made


Ticket = int | Tally


class Recorder(Protocol):
    """Keeps records. Recording is a synchronous enqueue, which a cancellation cannot interrupt."""

    def record(self, *records: Record) -> int:
        """Takes the records, in order, and returns a ticket for `committed`."""

    def record_refusal(self, caller: str, *records: Record) -> Ticket:
        """Takes the records of one refused call, or only counts the call if its caller repeats itself."""

    async def committed(self, ticket: Ticket) -> None:
        """Returns once everything up to the ticket is durable. Raises: RecordingFailed."""

    async def room(self) -> None:
        """Returns once the queue has room: callers slow down, no record is lost. Raises: RecordingFailed."""

    def digest(self, value: bytes) -> str:
        """A keyed hash of a value, comparable within one store only."""


# For the caller of a tool that ran although its record cannot be written: a second run may do harm.
RAN_UNRECORDED = (
    "The tool did run, and that could not be put on record. Do not repeat the call; report it to the operator."
)


class RecordingFailed(Exception):
    """Records cannot be written, so calls are refused until they can."""


class CallEnd(NamedTuple):
    """How a call ended, as it is recorded."""

    status: Status
    rule: str


class Exchange(msgspec.Struct, kw_only=True):
    """One tools/call, filling up as it proceeds."""

    request_id: str
    server: str
    tool: str
    policy: ToolPolicy
    contract: CompiledContract | None
    started: float  # monotonic seconds
    caller: Caller = ANYONE
    details: dict[str, Detail] = {}
    ticket: Ticket | None = None  # of the last record that must be durable before a reply leaves
    end: CallEnd | None = None  # as recorded; the first end counts
    has_run: bool = False  # a toolkit tool was started, so it may have had effects
    is_admin_done: bool = False  # an admin tool of the toolkit succeeded
    is_counted: bool = True  # among the calls in progress, until it is recorded
    release: Callable[[], None] | None = None  # frees the call's place at its server once the call is recorded
