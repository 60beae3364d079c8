"""The quick start of docs/django.md, as it is printed, in a project that `django-admin startproject` has just made."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from mcp.shared.exceptions import MCPError

from tests.demo import ROOT
from tests.django.connecting import MODES, Mode, connected

WRAPPED = {"data": {"title": "Milk", "text": "Two bottles"}}
REFUSAL = """\
Argument 'data' is not a declared field and its value is a nested object.
Likely cause: REST-style wrapper — send fields flat at the top level.
Unwrap 'data': send "title", "text" directly, not inside "data".
Declared fields: ["title", "text"]."""

# The project that somebody has before they read the page: one model behind one viewset.
MODELS = """
from django.db import models


class Note(models.Model):
    title = models.CharField(max_length=40, blank=True)
    text = models.TextField(blank=True)
"""
VIEWS = """
from rest_framework import serializers, viewsets

from notes.models import Note


class NoteSerializer(serializers.ModelSerializer):
    class Meta:
        model = Note
        fields = ("id", "title", "text")


class NoteViewSet(viewsets.ModelViewSet):
    queryset = Note.objects.order_by("id")
    serializer_class = NoteSerializer
"""
SETTINGS = """
INSTALLED_APPS += ["rest_framework", "notes"]
"""
URLS = """
from django.urls import include
from rest_framework.routers import DefaultRouter

from notes.views import NoteViewSet

router = DefaultRouter()
router.register("notes", NoteViewSet)
urlpatterns += [path("api/v1/", include(router.urls))]
"""

Runner = Literal["runserver", "uvicorn"]


# --- the page --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QuickStart:
    """What the page says to write, by file, and what it says to run."""

    edits: dict[str, str]
    commands: list[str]


def read_quick_start() -> QuickStart:
    page = (ROOT / "docs" / "django.md").read_text("utf-8")
    section = re.search(r"^## Quick start\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert section is not None
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)
    python = [text.split("\n", 1) for language, text in blocks if language == "python"]
    console = [line for language, text in blocks if language == "console" for line in text.splitlines()]
    edits = {first.removeprefix("# "): rest for first, rest in python}
    return QuickStart(edits, [line.removeprefix("$ ") for line in console])


def test_the_page_says_what_to_write_and_what_to_run() -> None:
    page = read_quick_start()
    assert list(page.edits) == ["settings.py", "urls.py"]
    assert page.edits["settings.py"] == 'INSTALLED_APPS += ["handfast.django"]\n'
    assert page.commands[0] == 'pip install ".[django]"'
    assert page.commands[-1] == "python manage.py runserver"


# --- a project that follows it ---------------------------------------------------------------------------------------


def environment(folder: Path) -> dict[str, str]:
    """A new terminal's, with a place of its own for the record."""
    outside = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return {**outside, "HANDFAST_STATE": str(folder / "state"), "PYTHONUNBUFFERED": "1"}


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after every step of the page but the last."""
    folder = tmp_path_factory.mktemp("site")
    run(folder, "-m", "django", "startproject", "mysite", ".")
    run(folder, "manage.py", "startapp", "notes")
    (folder / "notes" / "models.py").write_text(MODELS)
    (folder / "notes" / "views.py").write_text(VIEWS)
    append(folder / "mysite" / "settings.py", SETTINGS)
    append(folder / "mysite" / "urls.py", URLS)
    run(folder, "manage.py", "makemigrations", "notes")

    page = read_quick_start()
    for name, lines in page.edits.items():
        append(folder / "mysite" / name, lines)
    for command in page.commands[1:-1]:
        python, *words = command.split()
        assert python == "python"
        run(folder, *words)
    return folder


@contextmanager
def serving(site: Path, runner: Runner, *, debug: bool = True, append_slash: bool = True) -> Iterator[str]:
    """The project's address. What differs from `startproject`'s settings is in settings of their own."""
    name = f"settings_{runner}_{debug}_{append_slash}"
    chosen = f"DEBUG = {debug}\nAPPEND_SLASH = {append_slash}\nALLOWED_HOSTS = ['127.0.0.1']\n"
    (site / "mysite" / f"{name}.py").write_text(f"from mysite.settings import *\n\n{chosen}")
    commands = {
        "runserver": ["manage.py", "runserver", "--noreload", "127.0.0.1:0"],
        "uvicorn": ["-m", "uvicorn", "mysite.asgi:application", "--port", "0", "--lifespan", "off"],
    }
    variables = {**environment(site), "DJANGO_SETTINGS_MODULE": f"mysite.{name}"}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen([sys.executable, *commands[runner]], cwd=site, env=variables, text=True, **both) as process:  # type: ignore[call-overload]  # the dict's values
        try:
            yield _address(process)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"(?:server at|running on) (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise AssertionError(said)


# --- and an agent that uses it ---------------------------------------------------------------------------------------


async def use(url: str, mode: Mode) -> None:
    """What an agent does first: look, write, read back; and what it must not get away with."""
    async with connected(url, mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {
            f"notes__{action}" for action in ("list", "create", "retrieve", "update", "partial_update", "destroy")
        }
        before = (await client.call_tool("notes__list", {})).structured_content
        with pytest.raises(MCPError) as refused:
            await client.call_tool("notes__create", WRAPPED)
        assert (refused.value.code, refused.value.message) == (-32602, REFUSAL)
        assert (await client.call_tool("notes__list", {})).structured_content == before

        made = await client.call_tool("notes__create", WRAPPED["data"])
        assert made.is_error is False
        assert made.structured_content is not None
        found = await client.call_tool("notes__retrieve", {"id": made.structured_content["id"]})
        assert found.structured_content == {**WRAPPED["data"], "id": made.structured_content["id"]}


# Every two of the three choices meet: no more than that is in one place, since DEBUG serves pages of errors,
# APPEND_SLASH is the middleware's, and the runners differ below both.
@pytest.mark.parametrize(
    ("runner", "debug", "append_slash"),
    [
        ("runserver", True, True),  # as the page prints it
        ("runserver", False, False),
        ("uvicorn", True, False),
        ("uvicorn", False, True),
    ],
)
def test_the_quick_start_works_as_it_is_printed(site: Path, runner: Runner, debug: bool, append_slash: bool) -> None:
    with serving(site, runner, debug=debug, append_slash=append_slash) as address:
        for mode in MODES:
            asyncio.run(use(f"{address}/mcp/", mode))
