"""All or nothing, on every database that is written to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections
from django.db.models import Model
from django.test import override_settings

from handfast.django.invocation.transactions import one_transaction
from tests.django.depot.models import Depot, Entry, Shelf, Tag
from tests.django.invocation.calling import call, call_each, each_refusal, outer, refusal


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
    with override_settings(DATABASE_ROUTERS=["tests.django.invocation.test_transactions.Archive"]):
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
