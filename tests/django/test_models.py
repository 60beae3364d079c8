"""The adapter's tables: their migration says all of it, and they go with any user model."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

PROJECT = """
import sys, django
from django.conf import settings
settings.configure(
    AUTH_USER_MODEL="people.Person",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "people", "handfast.django",
    ],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
from django.core.management import call_command
from django.test import RequestFactory
from handfast.django.access import identify_caller, issue, label
from people.models import Person

call_command("migrate", verbosity=0, run_syncdb=True)
call_command("makemigrations", "handfast", check=True, dry_run=True, verbosity=0)
call_command("check", "handfast", fail_level="WARNING")
person = Person.objects.create(email="ada@example.com")
token, plain = issue(person, name="laptop", scopes="*")
request = RequestFactory().post("/mcp/", headers={"Authorization": f"Bearer {plain}"})
caller = identify_caller(request)
print(label(caller), request.user == person, type(person.pk).__name__, type(token.pk).__name__)
request = RequestFactory().post("/mcp/")
request._force_auth_user = person
print(label(identify_caller(request)))
"""
PERSON = """
import uuid
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models

class Person(AbstractBaseUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)
    USERNAME_FIELD = "email"
"""


def test_the_migrations_say_all_that_the_models_do() -> None:
    call_command("makemigrations", "handfast", check=True, dry_run=True, verbosity=0)


@pytest.mark.usefixtures("tables")
def test_the_migrations_can_be_undone_and_done_again() -> None:
    call_command("migrate", "handfast", "zero", verbosity=0)
    call_command("migrate", "handfast", verbosity=0)


def test_tokens_act_for_users_of_any_model(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "__init__.py").write_text("")
    (tmp_path / "people" / "models.py").write_text(PERSON)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROJECT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert (done.stderr, done.stdout.splitlines()) == (
        "",
        [
            "System check identified no issues (0 silenced).",
            "token:laptop True UUID int",
            "user:ada@example.com",
        ],
    )


def test_access_can_be_imported_before_there_are_models() -> None:
    program = """
from django.conf import settings
settings.configure()
import handfast.django.access, handfast.django.service.kept_results
from django.apps import apps
print(apps.ready)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.stdout) == ("", "False\n")
