"""`manage.py handfast empty-rows` in a real project with a real database."""

import json
import shutil
import sqlite3
from contextlib import AbstractContextManager, closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from rest_framework import viewsets
from rest_framework.routers import SimpleRouter

from handfast.django.management.commands.handfast import Command
from tests.django.empty_rows.serializers import PersonSerializer, VisitSerializer
from tests.django.fresh_project import Ended, Project, make_project
from tests.django.leftovers.models import Person, Visit
from tests.django.other_urls import project as project_with

# Two contacts of whom nothing is known, one who is somebody; a company without a name, and one with.
# The second empty contact has an order with two lines.
_ROWS = """
from shop.models import *
first, second, ada = Contact.objects.create(), Contact.objects.create(), Contact.objects.create(first_name="Ada")
Company.objects.create(name=""); Company.objects.create(name="Acme")
order = Order.objects.create(contact=second)
Line.objects.create(order=order); Line.objects.create(order=order)
"""
ALL = [[1, 2, 3], [1, 2], [1], [1, 2]]
ORDER = {"by": "shop.Order.contact", "count": 1, "fate": "deleted with it"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with these rows, for tests that change nothing."""
    project = make_project(tmp_path_factory.mktemp("project"))
    project.migrate()
    project.shell(_ROWS)
    return project


@pytest.fixture
def project(filled: Project, tmp_path: Path) -> Project:
    """The same for tests that delete."""
    shutil.copytree(filled.folder, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path)


def kept(project: Project) -> list[list[int]]:
    """The keys of contacts, companies, orders and lines, asked of the database itself."""
    with closing(sqlite3.connect(project.folder / "db.sqlite3")) as database:
        tables = ("contact", "company", "order", "line")
        return [[key for (key,) in database.execute(f"SELECT id FROM shop_{table} ORDER BY id")] for table in tables]


def listed(project: Project, *words: str) -> Any:  # Any: JSON
    ended = project.manage("handfast", "empty-rows", "--json", *words)
    assert (ended.code, ended.stderr) == (0, "")
    return json.loads(ended.stdout)


@pytest.mark.requirement("T5")
def test_empty_rows_are_listed_and_left_alone(filled: Project) -> None:
    said = listed(filled)
    assert [(one["model"], one["tools"], one["doubtful"], one["total"]) for one in said["models"]] == [
        ("shop.Company", ["companies__create"], False, 1),
        ("shop.Contact", ["contacts__create"], True, 2),
    ]
    rows = {one["model"]: [(row["pk"], row["pointing"]) for row in one["rows"]] for one in said["models"]}
    assert rows == {"shop.Company": [(1, [])], "shop.Contact": [(1, []), (2, [ORDER])]}
    assert all(row["created"] for row in said["models"][1]["rows"])
    assert said["not_searched"] == [
        {"model": "shop.Order", "tools": ["orders__create"], "why": "no row can be without 'contact'"}
    ]
    assert said["deleted"] is None
    assert kept(filled) == ALL


def test_people_get_the_same_in_words(filled: Project) -> None:
    shown = filled.manage("handfast", "empty-rows", "--model", "shop.contact", "--limit", "1").stdout.splitlines()
    assert shown[:2] == [
        "shop.Contact (contacts__create): 2 empty rows",
        "  doubtful: one can be made without any value, so they may be intended",
    ]
    assert shown[2].startswith("  1  made 20")
    assert shown[3:] == ["  and 1 more: see them with --limit 0"]
    shown = filled.manage("handfast", "empty-rows").stdout.splitlines()
    assert shown[0] == "shop.Company (companies__create): 1 empty row"
    assert shown[-2].endswith("; 1 shop.Order.contact deleted with it")
    assert shown[-1] == "shop.Order: not searched, no row can be without 'contact'"


def test_only_rows_since_a_date(filled: Project) -> None:
    said = listed(filled, "--since", "2026-01-01")
    assert [(one["model"], one["total"]) for one in said["models"]] == [("shop.Contact", 2)]
    undated = {"model": "shop.Company", "tools": ["companies__create"], "why": "no column says when a row was made"}
    assert undated in said["not_searched"]
    assert listed(filled, "--since", "2999-01-01")["models"][0]["total"] == 0


@pytest.mark.requirement("T5")
def test_rows_that_are_named_are_deleted_without_a_question(project: Project) -> None:
    said = listed(project, "--delete", "--yes", "--model", "shop.Contact", "--pk", "1")
    assert said["deleted"] == {"rows": {"shop.Contact": 1}, "with_them": {}}
    assert kept(project) == [[2, 3], *ALL[1:]]


NAME_THEM = "--yes deletes only rows that are named: add --model APP.MODEL and --pk KEY for each."
ABOUT_DELETING = "--yes and --cascade are about deleting: add --delete."


@pytest.mark.requirement("T5")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--delete"], "Nobody can be asked here. Name the rows: --delete --yes --model APP.MODEL --pk KEY"),
        (["--delete", "--yes"], NAME_THEM),
        (["--delete", "--yes", "--model", "shop.Contact"], NAME_THEM),
        (
            ["--delete", "--yes", "--model", "shop.Contact", "--pk", "1", "--pk", "3"],
            "shop.Contact 3: not an empty row. Nothing was deleted.",
        ),
        (
            ["--delete", "--yes", "--model", "shop.Contact", "--pk", "1", "--pk", "2"],
            "shop.Contact 2: other rows point at it (1 shop.Order.contact). Add --cascade.",
        ),
    ],
)
def test_nothing_is_deleted_that_was_not_named(filled: Project, words: list[str], said: str) -> None:
    ended = filled.manage("handfast", "empty-rows", *words, "--json")
    assert ended == Ended(1, "", f"CommandError: {said}\n")
    assert kept(filled) == ALL


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--delete", "--yes", "--pk", "1"], "--pk needs the one --model whose rows it names."),
        (["--pk", "1", "--model", "leftovers.Person", "--model", "leftovers.Visit"], "--pk needs the one --model"),
        (["--delete", "--yes", "--model", "leftovers.Person", "--pk", "x"], "--pk x: no key of leftovers.Person"),
        (
            ["--delete", "--yes", "--model", "leftovers.Visit", "--pk", "1"],
            "None of these rows is known to be empty.",
        ),
        (["--yes", "--model", "leftovers.Person", "--pk", "1"], ABOUT_DELETING),
        (["--cascade"], ABOUT_DELETING),
        (["--limit", "-1"], "--limit is a number of rows, or 0 for all of them."),
        (
            ["--model", "leftovers.Bill"],
            "No create tool writes leftovers.Bill. Those that are written: leftovers.Person, leftovers.Visit.",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(database: None, words: list[str], said: str) -> None:
    with project_of_people(), pytest.raises(CommandError) as refused:
        call_command(Command(), "empty-rows", *words)
    assert str(refused.value).startswith(said)


def test_a_command_called_from_code_writes_where_it_is_told(database: None) -> None:
    Person.objects.create(pk=7)
    said = StringIO()
    with project_of_people():
        call_command(Command(), "empty-rows", "--model", "leftovers.person", stdout=said)
    assert said.getvalue() == "leftovers.Person (people__create): 1 empty row\n  7\n"


def project_of_people() -> AbstractContextManager[None]:
    router = SimpleRouter()
    for name, model, serializer in (("people", Person, PersonSerializer), ("visits", Visit, VisitSerializer)):
        members = {"queryset": model.objects.all(), "serializer_class": serializer}
        router.register(name, type("Views", (viewsets.ModelViewSet,), members), basename=name)
    return project_with(*router.urls)


@pytest.mark.requirement("T5")
def test_a_person_is_asked_and_a_doubtful_row_by_itself(project: Project) -> None:
    project.shell("from shop.models import *; Company.objects.create(name='')")
    with project.on_terminal("handfast", "empty-rows", "--delete") as terminal:
        shown = terminal.read("[yes/no/each] ")
        assert "Left alone, as other rows point at them (see --cascade): shop.Contact 2\n" in shown
        assert shown.endswith("Delete 2 of shop.Company (1, 3)? [yes/no/each] ")
        terminal.type("yes")
        assert terminal.read("[yes/no] ").endswith("Delete shop.Contact 1? [yes/no] ")
        terminal.type("")
        shown = terminal.read()
    assert terminal.code == 0
    assert shown.splitlines()[-1] == "deleted: 2 of shop.Company"
    assert kept(project) == [[1, 2, 3], [2], [1], [1, 2]]


@pytest.mark.requirement("T5")
def test_a_person_hears_what_would_go_along(project: Project) -> None:
    words = ("handfast", "empty-rows", "--delete", "--cascade", "--model", "shop.Contact")
    with project.on_terminal(*words) as terminal:
        shown = terminal.read("[yes/no] ")
        assert "With rows of shop.Contact would go: 1 of shop.Order, 2 of shop.Line\n" in shown
        terminal.type("no")
        question = "Delete shop.Contact 2 (1 shop.Order.contact deleted with it)? [yes/no] "
        assert terminal.read("[yes/no] ").endswith(question)
        terminal.type("yes")
        shown = terminal.read()
    assert terminal.code == 0
    assert sorted(shown.splitlines()[-3:]) == [
        "deleted with them: 1 of shop.Order",
        "deleted with them: 2 of shop.Line",
        "deleted: 1 of shop.Contact",
    ]
    assert kept(project) == [[1, 3], [1, 2], [], []]


def test_a_person_who_says_no_keeps_everything(filled: Project) -> None:
    with filled.on_terminal("handfast", "empty-rows", "--delete", "--model", "shop.Company") as terminal:
        terminal.read("[yes/no/each] ")
        terminal.type("no")
        assert terminal.read().splitlines()[-1] == "Nothing was deleted."
    assert terminal.code == 0
    assert kept(filled) == ALL


def test_a_database_that_is_not_migrated_is_one_line(tmp_path: Path) -> None:
    ended = make_project(tmp_path).manage("handfast", "empty-rows")
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        "CommandError: The database refused: no such table: shop_company. Is it migrated? See: manage.py migrate\n"
    )
