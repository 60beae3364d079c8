"""Django for these tests: set up once, with its tables in memory.

With HANDFAST_TEST_DATABASE=postgresql the tables are in the database that PGHOST, PGUSER and PGDATABASE lead to, and
only the tests that use them run: every one that asks for the fixture `tables`, directly or through another.
"""

import os
from collections.abc import Iterator

import django
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.django.project.settings")
django.setup()
DATABASE = os.environ.get("HANDFAST_TEST_DATABASE", "sqlite")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if DATABASE == "sqlite":
        return
    others = [item for item in items if "tables" not in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session")
def tables() -> None:
    """Every table of the project."""
    from django.core.management import call_command
    from django.db import connection

    assert connection.vendor == DATABASE
    call_command("migrate", run_syncdb=True, verbosity=0)


@pytest.fixture
def database(tables: None) -> Iterator[None]:
    """The tables, as empty afterwards as before."""
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)
