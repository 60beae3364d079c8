"""A request under way, and what has to be known about it when its answer comes."""

from collections.abc import Callable
from dataclasses import dataclass

from handfast.core.call.caller import Caller
from handfast.core.call.exchange import Exchange
from handfast.gateway.admission.call_places import Place
from handfast.wire.alias import Alias
from handfast.wire.message import RequestId


@dataclass(slots=True)
class Pending:
    """A request that the server has not answered yet."""

    method: str
    is_modern: bool
    caller: Caller
    alias: Alias | None = None  # the id that an HTTP server knows it by, once it was sent
    call: Exchange | None = None
    tool: str = ""  # of a tools/call, as the server knows it
    asks_for_task: bool = False  # of a tools/call: 2025-11-25 lets the client ask for its result later
    task_id: str | None = None  # of a request about a task
    cursor: bytes | None = None  # of a tools/list: which page was asked for
    is_cancelled: bool = False
    ended: str = ""  # why no answer can come any longer: the session ended before
    when_over: Callable[[], None] | None = None  # called when the request was cancelled or has ended
    progress_token: RequestId | None = None
    touched: float = 0.0  # when the request or its last progress passed; infinite while it waits in line
    began: float = 0.0  # when it was opened, or its turn came
    place: Place | None = None  # in line for the server
    is_attended: bool = False  # what relays its answer also watches its time
