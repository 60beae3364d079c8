"""The app in a real project: installed, its checks are Django's own, at the cost that they are worth."""

from pathlib import Path

import pytest

from tests.django.fresh_project import COLLISION, Project, make_project

NO_ISSUES = "System check identified no issues (0 silenced).\n"
W020 = (
    "shop.views.ContactSerializer: (handfast.W020) Has no field that must be sent: a call without any, or with their"
    " names misspelt, makes an empty row.\n\tHINT: Make a field required, or refuse an empty call in validate().\n"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("project"))


def test_check_tells_what_would_hurt_an_agent(project: Project) -> None:
    ended = project.manage("check")
    assert (ended.code, ended.stdout) == (0, "")
    assert W020 in ended.stderr
    assert "System check identified 1 issue (0 silenced)." in ended.stderr
    assert project.manage("check", "--tag", "handfast") == ended
    assert project.manage("check", "--tag", "handfast", "--fail-level", "WARNING").code == 1


def test_deploy_tells_what_exposes_a_token(project: Project) -> None:
    said = project.manage("check", "--deploy", "--tag", "handfast").stderr
    assert [one for one in ("W020", "W040", "W041", "W042") if f"(handfast.{one})" in said] == ["W020", "W040", "W041"]


def test_an_error_about_a_tool_stops_check_and_nothing_else(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("urls.py", COLLISION)
    assert project.manage("check").code == 1
    ended = project.manage("migrate", "--run-syncdb", "-v", "0")
    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")


def test_silenced_checks_are_silent(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("settings.py", 'SILENCED_SYSTEM_CHECKS = ["handfast.W020"]\n')
    ended = project.manage("check")
    assert (ended.code, ended.stdout) == (0, "System check identified no issues (1 silenced).\n")


def test_wrong_settings_are_a_check_and_no_traceback(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("settings.py", 'HANDFAST = {"NAMES": "shop"}\n')
    ended = project.manage("check")
    assert ended.code == 1
    assert "settings.HANDFAST: (handfast.E010) HANDFAST has no setting 'NAMES'." in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.new_interpreters
def test_before_other_commands_neither_views_nor_the_framework_are_loaded(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    # The urls of a project are imported by Django's own checks; here they lead to no view of REST framework.
    (project.folder / "urls.py").write_text("urlpatterns = []\n", "utf-8")
    project.add("settings.py", 'SILENCED_SYSTEM_CHECKS = ["handfast.W011"]\n')
    (project.folder / "shop" / "management" / "commands").mkdir(parents=True)
    command = """
import sys
from django.core.management.base import BaseCommand

class Command(BaseCommand):
    def handle(self, **options):
        suspects = ("rest_framework.serializers", "handfast.django.discovery", "handfast.toolkit", "pydantic", "mcp")
        print([name for name in suspects if name in sys.modules])
"""
    (project.folder / "shop" / "management" / "commands" / "nightly.py").write_text(command, "utf-8")
    ended = project.manage("nightly")
    assert (ended.code, ended.stdout, ended.stderr) == (0, "[]\n", "")
