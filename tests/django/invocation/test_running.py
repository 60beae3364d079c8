"""How a view is run: in Django's transactions, with Django's answers to what it raises."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.signals import got_request_exception
from django.db import IntegrityError, connection, connections
from django.db.models import Model
from django.test import override_settings

from handfast.django.invocation.running import one_transaction
from tests.django.depot.models import Depot, Entry, Shelf, Tag
from tests.django.invocation.calling import call, call_each, each_refusal, outer, refusal, told

CRASHED: tuple[str, str, dict[str, object]] = (
    "internal_error",
    (
        "The view behind this tool failed. It may have changed something: check before you call again,"
        " and tell the operator, whose log has the reason."
    ),
    {},
)


@pytest.fixture
def atomic_requests() -> Iterator[None]:
    connections.settings["default"]["ATOMIC_REQUESTS"] = True
    yield
    connections.settings["default"]["ATOMIC_REQUESTS"] = False


@pytest.fixture
def crashes() -> Iterator[list[Any]]:
    """The requests of which Django's signal said that they crashed."""
    seen: list[Any] = []

    def note(request: Any, **_: Any) -> None:
        seen.append(request)

    got_request_exception.connect(note)
    yield seen
    got_request_exception.disconnect(note)


def odd(kind: str) -> tuple[str, str, dict[str, object]]:
    return told(refusal("odd__retrieve", {"kind": kind}))


# --- exceptions ------------------------------------------------------------------------------------------------------


def test_a_crash_is_logged_and_signalled_and_tells_the_agent_nothing(
    crashes: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert odd("crash") == CRASHED
    assert [request.path for request in crashes] == ["/api/odd/crash/"]
    (record,) = [record for record in caplog.records if record.name == "django.request"]
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "Internal Server Error: /api/odd/crash/")
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "secret of the house"


@pytest.mark.parametrize("kind", ["protected", "restricted"])
def test_a_row_that_others_keep_is_a_conflict_to_the_agent_and_a_crash_to_the_operator(
    kind: str, crashes: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Over HTTP it is a crash, so whoever watches for those sees it. An agent can do something about it."""
    assert odd(kind) == (
        "conflict",
        (
            "That conflicts with what is there: other rows refer to this one and keep it from being deleted."
            " Read it, then call again."
        ),
        {"status": 409},
    )
    assert len(crashes) == 1
    assert [record.getMessage() for record in caplog.records] == [f"Internal Server Error: /api/odd/{kind}/"]


@pytest.mark.parametrize("kind", ["none", "nan"])
def test_an_answer_that_is_none_or_cannot_be_written_is_a_crash(kind: str, crashes: list[Any]) -> None:
    assert odd(kind) == CRASHED
    assert len(crashes) == 1


@pytest.mark.parametrize(
    ("kind", "code"), [("missing", "not_found"), ("denied", "permission_error"), ("suspicious", "internal_error")]
)
def test_what_rest_framework_answers_itself_is_no_crash(kind: str, code: str, crashes: list[Any]) -> None:
    """REST framework knows the first two; it lets the third through to Django."""
    error = refusal("odd__retrieve", {"kind": kind})
    assert error.code == ("invalid_input" if kind == "suspicious" else code)
    assert crashes == []


def test_what_is_suspicious_is_in_the_security_log(caplog: pytest.LogCaptureFixture) -> None:
    assert odd("suspicious")[:2] == (
        "invalid_input",
        "The API refused these arguments. Correct them and call again.",
    )
    assert [record.name for record in caplog.records] == ["django.security.SuspiciousOperation"]


def test_an_end_of_the_process_is_nobodys_answer() -> None:
    with pytest.raises(SystemExit):
        call("odd__retrieve", {"kind": "quit"})


def test_exceptions_go_through_where_django_is_told_to_let_them() -> None:
    with override_settings(DEBUG_PROPAGATE_EXCEPTIONS=True), pytest.raises(RuntimeError):
        call("odd__retrieve", {"kind": "crash"})


def test_debugging_tells_no_more() -> None:
    with override_settings(DEBUG=True):
        assert odd("crash") == CRASHED


# --- transactions ----------------------------------------------------------------------------------------------------

FAILING = [("crash", "internal_error"), ("invalid", "invalid_input"), ("missing", "not_found")]


@pytest.mark.parametrize(("how", "code"), FAILING)
@pytest.mark.usefixtures("atomic_requests")
def test_an_error_in_the_middle_leaves_nothing_behind_where_requests_are_atomic(how: str, code: str) -> None:
    assert refusal("careless__create", {"how": how}).code == code
    assert not Entry.objects.exists()
    assert call("careless__create", {"how": "well"}) == {"entries": 1}
    assert Entry.objects.count() == 1


@pytest.mark.parametrize(("how", "code"), [FAILING[0]])
@pytest.mark.usefixtures("atomic_requests")
def test_a_view_that_asks_for_no_transaction_gets_none(how: str, code: str) -> None:
    assert refusal("on-its-own__create", {"how": how}).code == code
    assert Entry.objects.count() == 1


@pytest.mark.parametrize(("how", "code"), FAILING)
def test_without_atomic_requests_it_is_as_over_http(how: str, code: str) -> None:
    assert refusal("careless__create", {"how": how}).code == code
    assert Entry.objects.count() == 1


# --- awaited ---------------------------------------------------------------------------------------------------------


def test_a_view_that_must_be_awaited_is() -> None:
    assert call("unhurried__get") == {"seen": "/api/unhurried/", "method": "GET"}


def test_where_nothing_can_be_looked_up_ids_are_asked_for() -> None:
    assert call("unlooking__create", {"code": "c", "depot": "n"}) == {"code": "c", "depot": "n"}
    assert refusal("unlooking__create", {"code": "c", "depot": {"name": "North"}}).details["fields"] == {
        "depot": ["nothing can be looked up where this view runs; send its id"]
    }


@pytest.mark.usefixtures("atomic_requests")
def test_such_a_view_cannot_be_atomic_as_in_django(crashes: list[Any]) -> None:
    assert told(refusal("unhurried__get")) == CRASHED
    assert len(crashes) == 1


class Archive:
    """Entries are kept apart."""

    def db_for_write(self, model: type[Model], **_: Any) -> str | None:
        return "archive" if model is Entry else None

    def db_for_read(self, model: type[Model], **_: Any) -> str | None:
        return self.db_for_write(model)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[None]:
    """A second database, which entries are written to."""
    engine = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "archive.sqlite3")}
    connections.settings["archive"] = {**connections.settings["default"], **engine, "OPTIONS": {}}
    with override_settings(DATABASE_ROUTERS=["tests.django.invocation.test_running.Archive"]):
        with connections["archive"].schema_editor() as editor:
            editor.create_model(Entry)
        yield
    connections["archive"].close()
    del connections["archive"]
    del connections.settings["archive"]


@pytest.mark.usefixtures("archive")
def test_every_database_that_is_written_to_is_rolled_back() -> None:
    each_refusal("careless__create", [{"how": "well"}, {"how": "invalid"}])
    assert Entry.objects.using("archive").count() == 0
    assert call_each("careless__create", [{"how": "well"}, {"how": "well"}]) == [{"entries": 1}, {"entries": 2}]
    assert Entry.objects.using("archive").count() == 2


@pytest.mark.usefixtures("archive")
def test_one_transaction_reaches_over_all_of_them() -> None:
    def write() -> None:
        with one_transaction(outer()):
            Entry.objects.create(text="a")
            Tag.objects.create(name="a")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert (Entry.objects.count(), Tag.objects.count()) == (0, 0)


def test_what_the_database_refuses_at_the_end_is_a_crash_that_leaves_nothing(caplog: pytest.LogCaptureFixture) -> None:
    faults = [IntegrityError("secret of the house")]

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("RELEASE") and faults:
            raise faults.pop()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        refused = each_refusal("depots__create", [{"name": "a", "slug": "a"}])
    assert (refused.code, "secret" in refused.message) == ("internal_error", False)
    assert [record.getMessage() for record in caplog.records] == ["Internal Server Error: /mcp/"]
    assert not Depot.objects.exists()


def test_a_view_that_undoes_its_work_and_says_that_it_went_well_is_not_believed() -> None:
    refused = each_refusal("careless__create", [{"how": "well"}, {"how": "undo"}])
    assert refused.details == {"items": [{"index": 1, "code": "internal_error"}]}
    assert not Entry.objects.exists()


def test_a_view_that_takes_a_list_keeps_all_of_it_or_nothing() -> None:
    depot = Depot.objects.create(name="North", slug="n")
    same = {"depot": depot.pk, "label": "1"}
    assert refusal("bulk-shelves__create", {"objects": [same, same]}).code == "internal_error"  # two of one key
    assert each_refusal("bulk-shelves__create", [same, same]).code == "internal_error"
    assert not Shelf.objects.exists()
    call("bulk-shelves__create", {"objects": [same]})
    assert Shelf.objects.count() == 1
