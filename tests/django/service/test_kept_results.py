"""Results kept in the database: what is kept is what is found, by whoever has the key, and not beyond its time."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.core.answers.outcome import Failed
from handfast.django import models
from handfast.django.service.kept_results import DatabaseResults
from handfast.toolkit import Actor, Answer, ToolRegistry, read_tool
from handfast.toolkit.running.kept_results import CutResult, ResultStore
from handfast.toolkit.running.slow_lanes import run_here
from handfast.toolkit.writing.status_envelope import ok

MOST = 5 * 1024 * 1024
TEXTS = st.text(alphabet=st.characters(exclude_categories=("C", "Z")), max_size=64)  # as labels and names are scrubbed
BY_TYPE = {
    str: TEXTS,
    bytes: st.binary(max_size=100),
    tuple[bytes, ...]: st.lists(st.binary(max_size=50), max_size=5).map(tuple),
    int | None: st.none() | st.integers(0, 2**53),
}
# Every field there is, so that one that is added is kept too.
RESULTS: st.SearchStrategy[CutResult] = st.builds(
    CutResult, **{one.name: BY_TYPE[get_type_hints(CutResult)[one.name]] for one in fields(CutResult)}
)


class Hands:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


def result(size: int = 10, owner: str = "user:ada") -> CutResult:
    return CutResult(owner=owner, tool="t", arguments="", pieces=(b"x" * size,), total_items=None, beside=b"")


def keep(results: ResultStore, key: str, kept: CutResult) -> None:
    run_here(results.keep(key, kept))


def find(results: ResultStore, key: str) -> CutResult | None:
    return run_here(results.find(key))


@given(st.dictionaries(st.text(max_size=40), RESULTS, max_size=5))
@settings(max_examples=50)
def test_what_is_kept_is_what_is_found(tables: None, kept: dict[str, CutResult]) -> None:
    results = DatabaseResults()
    with transaction.atomic():
        for key, one in kept.items():
            keep(results, key, one)
        assert {key: find(results, key) for key in kept} == kept
        assert find(results, "another") == kept.get("another")
        transaction.set_rollback(True)


@pytest.mark.usefixtures("database")
def test_what_was_kept_is_found_until_its_time_is_over() -> None:
    clock = Hands()
    results = DatabaseResults(seconds=10, now=clock)
    keep(results, "a", result())
    clock.time += 9.9
    assert find(results, "a") == result()
    clock.time += 0.1
    assert find(results, "a") is None
    assert models.KeptResult.objects.count() == 1
    keep(results, "b", result(owner="user:grace"))  # whoever comes next sweeps
    assert [row.owner for row in models.KeptResult.objects.all()] == ["user:grace"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(1, MOST)), min_size=1, max_size=8))
@settings(max_examples=25)
def test_nobody_keeps_more_than_its_share_and_the_newest_is_there(
    tables: None, kept: list[tuple[str, int, int]]
) -> None:
    clock = Hands()
    results = DatabaseResults(most_bytes=MOST, seconds=60, now=clock)
    alive: dict[str, list[tuple[str, float, int]]] = {}
    with transaction.atomic():
        for number, (owner, seconds, size) in enumerate(kept):
            clock.time += seconds
            keep(results, str(number), result(size, owner))
            assert find(results, str(number)) == result(size, owner)
            alive.setdefault(owner, []).append((str(number), clock.time + 60, size))
            for one, theirs in alive.items():
                found = [size for key, _, size in theirs if find(results, key) is not None]
                assert sum(found) <= MOST
                # Only what is too old or too much is gone: others keep theirs.
                good = [size for _, end, size in theirs if end > clock.time]
                assert found == good[len(good) - len(found) :]
                assert one != owner or found
        transaction.set_rollback(True)


@pytest.mark.usefixtures("database")
def test_the_oldest_make_way_for_the_newest_of_the_same_caller() -> None:
    clock = Hands()
    results = DatabaseResults(most_bytes=MOST, now=clock)
    for number, owner in enumerate(["user:ada", "user:ada", "user:grace", "user:ada"]):
        clock.time += 1
        keep(results, str(number), result(MOST // 2, owner))
    assert [find(results, str(number)) is not None for number in range(4)] == [False, True, True, True]


@pytest.mark.usefixtures("database")
def test_of_two_in_the_same_moment_the_newest_stays() -> None:
    results = DatabaseResults(most_bytes=MOST, now=Hands())
    for key in ("1", "2", "3", "4"):
        keep(results, key, result(MOST))
        assert find(results, key) == result(MOST)
    assert models.KeptResult.objects.count() == 1


@pytest.mark.usefixtures("database")
def test_keys_are_not_in_the_table() -> None:
    keep(DatabaseResults(), "a-key-that-nobody-can-guess", result())
    [row] = models.KeptResult.objects.values()
    assert [value for value in row.values() if "guess" in str(value)] == []
    assert find(DatabaseResults(), row["digest"]) is None


@pytest.mark.usefixtures("database")
def test_keeping_costs_a_few_queries_and_finding_one() -> None:
    with CaptureQueriesContext(connection) as keeping:
        keep(DatabaseResults(), "a", result())
    with CaptureQueriesContext(connection) as finding:
        assert find(DatabaseResults(), "a") == result()
    asked = [[one["sql"].split()[0] for one in each.captured_queries] for each in (keeping, finding)]
    assert [[word for word in each if word not in ("SAVEPOINT", "RELEASE")] for each in asked] == [
        ["INSERT", "DELETE", "SELECT"],
        ["SELECT"],
    ]


@pytest.mark.usefixtures("database")
def test_a_database_that_refuses_makes_a_result_forgotten_and_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_: Any) -> None:
        raise DatabaseError("no such table: handfast_keptresult")

    results = DatabaseResults()
    with connection.execute_wrapper(_but_savepoints(refuse)):
        keep(results, "a", result())
        assert find(results, "a") is None
    assert [record.getMessage() for record in caplog.records] == [
        "kept_results.refused: DatabaseError. Look at the database, and whether `manage.py migrate` has run."
    ] * 2
    assert find(results, "a") is None


def _but_savepoints(refuse: Any) -> Any:
    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        return execute(sql, params, many, context) if "SAVEPOINT" in sql else refuse()

    return wrapper


def test_a_store_that_could_keep_no_result_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 5242880 bytes"):
        DatabaseResults(most_bytes=MOST - 1)


# --- continuation tokens ---------------------------------------------------------------------------------------------

NUMBERS = {"type": "array", "items": {"type": "integer"}}


async def numbers(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    """As a view does that undoes what it did."""
    with transaction.atomic():
        transaction.set_rollback(True)
        return ok(list(range(200)))


def worker() -> ToolRegistry:
    """What each process has one of."""
    tools = ToolRegistry(
        "workers", timeout_s=None, in_threads=True, in_pieces=True, piece_bytes=256, results=DatabaseResults()
    )
    tools.add(
        read_tool(
            "numbers",
            "Count.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            output_schema=NUMBERS,
            handler=numbers,
        )
    )
    return tools


def ask(arguments: dict[str, Any], who: str) -> Answer:
    return run_here(worker().dispatch("numbers", arguments, actor=Actor(id=who)))


@pytest.mark.usefixtures("database")
def test_any_worker_continues_for_the_same_caller_and_for_no_other() -> None:
    found: list[int] = []
    arguments: dict[str, Any] = {}
    while True:
        answer = ask(arguments, "token:laptop")
        assert answer.payload is not None
        piece = answer.payload["result"]
        found += piece["items"]
        token = piece["piece"]["continuation_token"]
        if token is None:
            break
        arguments = {"continuation_token": token}
        for other in ("token:phone", "user:laptop", ""):
            refused = ask(arguments, other).outcome
            assert isinstance(refused, Failed)
            assert refused.code == "not_found"
    assert found == list(range(200))


# --- several processes -----------------------------------------------------------------------------------------------

PROJECT = """
import sys, django
from django.conf import settings
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "handfast.django"],
)
django.setup()
from django.core.management import call_command
from handfast.django.service.kept_results import DatabaseResults
from handfast.toolkit import Actor, Answer, ToolRegistry, read_tool
from handfast.toolkit.running.slow_lanes import run_here
from handfast.toolkit.running.kept_results import CutResult
"""
KEEPS = """
call_command("migrate", verbosity=0)
kept = CutResult(owner="user:ada", tool="t", arguments="", pieces=(b"one", b"two"), total_items=2)
run_here(DatabaseResults().keep("key", kept))
"""
FINDS = """
import json
kept = run_here(DatabaseResults().find("key"))
print(json.dumps([kept.owner, [piece.decode() for piece in kept.pieces], kept.total_items]))
"""


def test_another_process_finds_what_one_has_kept(tmp_path: Path) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", PROJECT + work, tmp_path / "db.sqlite3"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for work in (KEEPS, FINDS)
    ]
    assert [said[0], json.loads(said[1])] == ["", ["user:ada", ["one", "two"], 2]]
