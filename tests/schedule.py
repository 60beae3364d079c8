"""Which tests a worker runs together, and which are begun first, where a run has several workers."""

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# What takes longest is begun first, so that no worker is left alone with it in the end; the rest is short.
LONGEST = (
    "tests/django/test_on_postgresql.py",
)  # fmt: skip
# Files that share what takes long to make: one worker makes it, once.
TOGETHER = ("tests/contracts/test_",)


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """A file's tests stay on one worker: many share a gateway or a server that took a second to start."""

    def _split_scope(self, nodeid: str) -> str:
        return next((start for start in TOGETHER if nodeid.startswith(start)), nodeid.split("::", 1)[0])

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=_place), last=False)
        super()._assign_work_unit(node)


def _place(scope: str) -> int:
    return LONGEST.index(scope) if scope in LONGEST else len(LONGEST)
