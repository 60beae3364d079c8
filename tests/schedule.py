"""Which tests a worker runs together, and which are begun first, where a run has several workers."""

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# What takes more than half a minute is begun first, so that no worker is left alone with it in the end.
LONGEST = (
    "tests/examples/contacts/test_",
    "tests/real/test_whole_sessions.py",
    "tests/contracts/matrix/test_matrix.py",
    "tests/contracts/test_",
    "tests/conformance/test_conformance.py",
    "tests/toolkit/test_misbehaving_handlers.py",
    "tests/django/test_on_postgresql.py",
    "tests/real/test_same_to_clients.py",
    "tests/django/management/subcommands/test_doctor.py",
    "tests/conformance/test_bridge.py",
    "tests/gateway/relay/test_stdio_relay.py",
    "tests/examples/backoffice/test_server.py",
    "tests/toolkit/serve/test_stdio.py",
    "tests/gateway/calls/test_repeats.py",
    "tests/conformance/test_eras.py",
    "tests/django/management/subcommands/test_client_config.py",
    "tests/toolkit/testing/test_contract.py",
    "tests/examples/backoffice/test_readme.py",
    "tests/real/test_undeclared_objects.py",
    "tests/toolkit/adapters/test_pypi_servers.py",
    "tests/examples/darkroom/test_session.py",
    "tests/faults/test_crossings.py",
    "tests/real/test_inspector.py",
    "tests/django/management/subcommands/test_token.py",
    "tests/toolkit/adapters/test_under_contract.py",
    "tests/gateway/calls/test_task_results.py",
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
