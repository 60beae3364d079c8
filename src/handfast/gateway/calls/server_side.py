"""ServerSide: what all conversations with one server have in common."""

from collections.abc import Callable
from typing import NamedTuple

from handfast.catalog.learning import Learner
from handfast.catalog.store import ServerMemory
from handfast.core.call.policy import ToolPolicy
from handfast.gateway.admission.call_places import Places
from handfast.gateway.calls.journal import Journal
from handfast.gateway.calls.task_results import TaskResults
from handfast.tool_call import CallPath


class ServerSide(NamedTuple):
    name: str
    path: CallPath
    journal: Journal
    learner: Learner
    policy_of: Callable[[str], ToolPolicy]
    now: Callable[[], float]  # monotonic seconds
    tasks: TaskResults
    memory: ServerMemory
    places: Places | None = None  # for calls at this server; None where no call is forwarded
    retries_idempotent: Callable[[], bool] = lambda: False
