"""Which tests a worker runs together, and which are begun first, where a run has several workers."""

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# What takes longest is begun first, so that no worker is left alone with it in the end; the rest is short.
LONGEST = (
    "tests/real/test_whole_sessions.py",
    "tests/django/test_on_postgresql.py",
    "tests/examples/contacts/test_",
    "tests/contracts/test_",
    "tests/conformance/test_conformance.py",
    "tests/real/test_same_to_clients.py",
    "tests/toolkit/testing/test_contract.py",
    "tests/contracts/matrix/test_matrix.py",
    "tests/toolkit/test_misbehaving_handlers.py",
    "tests/django/public/test_helpdesk.py",
    "tests/conformance/test_bridge.py",
    "tests/gateway/test_stdio_upstream.py",
    "tests/real/test_inspector.py",
    "tests/examples/darkroom/test_pixels.py",
    "tests/gateway/test_repeats.py",
    "tests/gateway/test_call_places.py",
    "tests/faults/test_crossings.py",
    "tests/examples/backoffice/test_server.py",
    "tests/examples/darkroom/test_readme.py",
    "tests/examples/darkroom/test_session.py",
    "tests/faults/test_matrix.py",
    "tests/conformance/test_client_suite.py",
    "tests/gateway/test_task_results.py",
    "tests/gateway/test_endpoint.py",
    "tests/gateway/test_conversation.py",
    "tests/gateway/test_server_health.py",
    "tests/gateway/fronts/test_real_servers.py",
    "tests/parts/test_parts.py",
    "tests/toolkit/adapters/test_pypi_servers.py",
    "tests/examples/backoffice/test_admin.py",
    "tests/faults/test_pressure.py",
    "tests/toolkit/adapters/test_under_contract.py",
    "tests/django/management/subcommands/test_empty_rows.py",
    "tests/test_nothing_is_lost.py",
    "tests/toolkit/test_lane_of_loop.py",
    "tests/real/test_tasks.py",
    "tests/django/test_quick_start.py",
)
# Files that share what takes long to make: one worker makes it, once.
TOGETHER = ("tests/contracts/test_", "tests/examples/contacts/test_")


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """A file's tests stay on one worker: many share a gateway or a server that took a second to start."""

    def _split_scope(self, nodeid: str) -> str:
        return next((start for start in TOGETHER if nodeid.startswith(start)), nodeid.split("::", 1)[0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
        super()._assign_work_unit(node)


def _place(scope: str) -> int:
    return LONGEST.index(scope) if scope in LONGEST else len(LONGEST)
