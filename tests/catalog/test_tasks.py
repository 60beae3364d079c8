"""Tasks on disk: found after a restart with what was promised, bounded in number and age, ids never written."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from handfast.catalog.store import ContractStore
from handfast.catalog.tasks import KeptTask, KeptTasks, task_key
from handfast.core.call.contract import ToolContract

PROMISED = ToolContract("add", b'{ "type":"object"}', b'{"x":1.0}', None)
TASK = KeptTask(
    key=task_key("s3cret-task-id", "s3cret-session"),
    named=task_key("s3cret-task-id"),
    holder="ann's",
    tool="add",
    request_id="r1",
    actor="ann",
    contract=PROMISED,
    created=100.0,
    expires=200.0,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ContractStore]:
    store = ContractStore(tmp_path)
    yield store
    store.close()


def keep(kept: KeptTasks, *tasks: KeptTask) -> None:
    async def run() -> None:
        for task in tasks:
            await kept.keep(task)

    asyncio.run(run())


def find(kept: KeptTasks, key: str = TASK.key, named: str = "") -> KeptTask | None:
    return asyncio.run(kept.find(key, named))


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("task", [TASK, replace(TASK, contract=None)])
def test_what_was_kept_is_found_by_the_next_start(tmp_path: Path, task: KeptTask) -> None:
    first = ContractStore(tmp_path)
    kept = KeptTasks(first, "up", "source")
    keep(kept, task)
    kept.note_outcome(task.key, "success")
    first.close()
    second = ContractStore(tmp_path)
    assert find(KeptTasks(second, "up", "source")) == replace(task, outcome="success")
    second.close()


def test_it_is_on_disk_as_soon_as_it_is_kept(store: ContractStore, tmp_path: Path) -> None:
    keep(KeptTasks(store, "up", "source"), TASK)
    other = ContractStore(tmp_path)  # a process that was killed closes nothing
    assert find(KeptTasks(other, "up", "source")) == TASK
    other.close()


@pytest.mark.requirement("C3")
def test_servers_of_one_name_but_another_command_do_not_share(store: ContractStore) -> None:
    keep(KeptTasks(store, "up", "one"), TASK)
    assert [find(KeptTasks(store, *place)) for place in (("up", "two"), ("other", "one"))] == [None, None]


def test_an_id_that_is_used_again_means_the_newer_task(store: ContractStore) -> None:
    kept = KeptTasks(store, "up", "source")
    newer = replace(TASK, tool="subtract", contract=replace(PROMISED, name="subtract"))
    keep(kept, replace(TASK, outcome="success"), newer)
    assert find(kept) == newer


@pytest.mark.requirement("P2")
def test_what_has_expired_makes_way_with_its_contract(store: ContractStore) -> None:
    kept = KeptTasks(store, "up", "source")
    later = replace(TASK, key=task_key("later"), contract=None, created=200.5, expires=300.0)
    keep(kept, TASK, later)
    assert [find(kept), find(kept, later.key)] == [None, later]
    assert store.read(lambda connection: connection.execute("SELECT * FROM task_contracts").fetchall()).result() == []


@pytest.mark.requirement("P2")
def test_the_oldest_make_way_when_there_are_too_many_and_other_servers_lose_nothing(store: ContractStore) -> None:
    other, kept = KeptTasks(store, "other", "source"), KeptTasks(store, "up", "source", most=2)
    numbered = [replace(TASK, key=task_key(str(number)), created=100.0 + number) for number in range(4)]
    keep(other, TASK)
    keep(kept, *numbered)
    assert [find(kept, task.key) for task in numbered] == [None, None, *numbered[2:]]
    assert find(other) == TASK


@pytest.mark.requirement("F7")
def test_whoever_has_the_most_makes_way_and_no_other(store: ContractStore) -> None:
    kept = KeptTasks(store, "up", "source", most=4)
    victim = replace(TASK, key=task_key("first"), holder="victim", created=99.0)
    flood = [replace(TASK, key=task_key(str(number)), created=100.0 + number) for number in range(50)]
    other = replace(TASK, key=task_key("last"), holder="other", created=160.0)
    keep(kept, victim, *flood, other)
    assert [find(kept, task.key) for task in (victim, *flood, other)] == [victim, *[None] * 48, *flood[48:], other]


@pytest.mark.requirement("F2")
def test_an_id_is_that_of_the_askers_own_task_else_of_the_only_one(store: ContractStore) -> None:
    kept = KeptTasks(store, "up", "source")
    mine, theirs = (replace(TASK, key=task_key("1", who), named=task_key("1"), request_id=who) for who in ("me", "you"))
    keep(kept, mine)
    assert find(kept, task_key("1", "you"), task_key("1")) == mine  # the server has another process by now
    keep(kept, theirs)
    assert [find(kept, task_key("1", who), task_key("1")) for who in ("me", "you", "else")] == [mine, theirs, None]


def test_tasks_of_an_earlier_version_are_found_by_their_ids(tmp_path: Path) -> None:
    store = ContractStore(tmp_path)
    store.write(lambda connection: connection.execute("DROP TABLE tasks")).result()
    store.write(lambda connection: connection.execute(_EARLIER)).result()
    row = ("up", "source", task_key("1"), "add", "r1", "ann", "", 100.0, 200.0, "")
    store.write(lambda connection: connection.execute(f"INSERT INTO tasks VALUES {row}")).result()
    store.close()
    for _ in range(2):
        later = ContractStore(tmp_path)
        found = find(KeptTasks(later, "up", "source"), task_key("1", "me"), task_key("1"))
        later.close()
        assert found is not None
        assert (found.tool, found.holder) == ("add", "")


_EARLIER = """
CREATE TABLE tasks (
    server TEXT NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, tool TEXT NOT NULL, request_id TEXT NOT NULL,
    actor TEXT NOT NULL, contract TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (server, source, key)
) WITHOUT ROWID
"""


def test_an_id_is_not_written_down(store: ContractStore, tmp_path: Path) -> None:
    keep(KeptTasks(store, "up", "source"), TASK)
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"source" in written
    assert b"s3cret" not in written


def test_a_broken_file_costs_the_judgement_of_later_results_and_nothing_else(
    store: ContractStore, caplog: pytest.LogCaptureFixture
) -> None:
    kept = KeptTasks(store, "up", "source")
    store.write(lambda connection: connection.execute("DROP TABLE tasks")).result()
    keep(kept, TASK)
    assert find(kept) is None
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "Contracts could not be kept and will be learnt again",
        "The catalog could not be read",
    ]
