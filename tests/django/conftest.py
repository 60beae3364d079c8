"""Django for these tests: set up once, with its tables in memory."""

import os
from collections.abc import Iterator

import django
import pytest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.django.project.settings")
django.setup()


@pytest.fixture(scope="session")
def tables() -> None:
    """Every table of the project."""
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)


@pytest.fixture
def database(tables: None) -> Iterator[None]:
    """The tables, as empty afterwards as before."""
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)
