"""`manage.py handfast doctor` in a real project."""

import json
from pathlib import Path

import pytest

from tests.django.fresh_project import COLLISION, Ended, Project, make_project

CALLS = {
    "create": ("write", "typed", "POST", "/"),
    "destroy": ("write", "nothing", "DELETE", "/{id}/"),
    "list": ("read", "typed", "GET", "/"),
    "partial_update": ("write", "typed", "PATCH", "/{id}/"),
    "retrieve": ("read", "typed", "GET", "/{id}/"),
    "update": ("write", "typed", "PUT", "/{id}/"),
}
EMPTY = {
    "id": "handfast.W020",
    "level": "warning",
    "message": "Has no field that must be sent: a call without any, or with their names misspelt, makes an empty row.",
    "hint": "Make a field required, or refuse an empty call in validate().",
    "where": "shop.views.ContactSerializer",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("project"))


def test_a_program_is_told_everything(project: Project) -> None:
    ended = project.manage("handfast", "doctor", "--json")
    assert (ended.code, ended.stderr) == (0, "")
    said = json.loads(ended.stdout)
    assert {one["name"]: (one["kind"], one["result"], one["method"], one["route"]) for one in said["tools"]} == {
        f"{name}__{action}": (kind, result, method, f"/api/{name}{path}")
        for name in ("companies", "contacts", "orders")
        for action, (kind, result, method, path) in CALLS.items()
    }
    by_name = {one["name"]: one for one in said["tools"]}
    assert by_name["orders__update"]["arguments"] == [
        {"name": "id", "required": True},
        {"name": "contact", "required": True},
        {"name": "note", "required": False},
    ]
    assert {tuple(one["permissions"]) for one in said["tools"]} == {("IsAuthenticated",)}
    assert (said["endpoints"], said["findings"], said["silenced"]) == (["/mcp/"], [EMPTY], 0)


def test_people_get_a_table_and_then_what_is_wrong(project: Project) -> None:
    ended = project.manage("handfast", "doctor")
    lines = ended.stdout.splitlines()
    assert (ended.code, ended.stderr) == (0, "")
    assert lines[:4] == [
        "MCP endpoint: /mcp/",
        "",
        "tool                       kind   result   call                         permissions      arguments",
        "companies__create          write  typed    POST /api/companies/         IsAuthenticated  name*",
    ]
    assert lines[21:] == [
        "18 tools; * must be sent",
        "",
        "warning handfast.W020  shop.views.ContactSerializer",
        f"  {EMPTY['message']}",
        f"  {EMPTY['hint']}",
        "",
        "1 warning",
    ]


def test_errors_come_first_and_the_exit_code_is_one(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("urls.py", COLLISION)
    ended = project.manage("handfast", "doctor", "--json")
    said = json.loads(ended.stdout)
    assert (ended.code, ended.stderr) == (1, "CommandError: 6 errors. Agents lack what is named above.\n")
    assert [one["id"] for one in said["findings"]] == ["handfast.E001"] * 6
    assert [one["name"] for one in said["tools"] if one["name"].startswith("contacts")] == []


def test_a_silenced_finding_is_counted_and_not_told(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("settings.py", 'SILENCED_SYSTEM_CHECKS = ["handfast.E001", "handfast.W020"]\n')
    project.add("urls.py", COLLISION)
    said = json.loads(project.manage("handfast", "doctor", "--json").stdout)
    assert (said["findings"], said["silenced"]) == ([], 6)
    assert project.manage("handfast", "doctor").stdout.splitlines()[-1] == "nothing is wrong (6 silenced)"


def test_wrong_settings_are_told_in_their_place(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("settings.py", 'HANDFAST = {"NAMES": "shop"}\n')
    ended = project.manage("handfast", "doctor")
    assert (ended.code, ended.stderr) == (1, "CommandError: 1 error. Agents lack what is named above.\n")
    lines = ended.stdout.splitlines()
    assert lines[2] == "No tools: an agent would see nothing."
    assert lines[4] == "error handfast.E010  settings.HANDFAST"
    assert lines[5].startswith("  HANDFAST has no setting 'NAMES'.")


def test_one_tool_is_shown_whole(project: Project) -> None:
    said = json.loads(project.manage("handfast", "doctor", "--tool", "contacts__create", "--json").stdout)
    assert said["inputSchema"]["properties"].keys() == {"email", "first_name", "objects"}
    assert said["outputSchema"]["$defs"]["OneOfList"]["properties"].keys() == {"id", "email", "first_name", "created"}
    assert (said["view"], said["findings"]) == ("shop.views.ContactViewSet.create", [EMPTY])
    shown = project.manage("handfast", "doctor", "--tool", "contacts__create").stdout
    assert shown.startswith("contacts__create\n")
    assert '"first_name"' in shown
    assert "warning handfast.W020" in shown
    assert json.loads(project.manage("handfast", "doctor", "--tool", "orders__list", "--json").stdout)["findings"] == []


def test_a_tool_that_is_not_there_is_one_line(project: Project) -> None:
    assert project.manage("handfast", "doctor", "--tool", "contact__create") == Ended(
        1,
        "",
        "CommandError: There is no tool of that name. Did you mean contacts__create?"
        " See them all: manage.py handfast doctor\n",
    )


def test_it_shows_what_one_user_or_token_is_listed(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.migrate()
    project.shell(
        "from django.contrib.auth.models import User; from handfast.django.access import issue;"
        " issue(User.objects.create_user('ada'), name='reader', scopes='django/orders__*:read')"
    )

    def names(who: str) -> list[str]:
        said = json.loads(project.manage("handfast", "doctor", "--json", "--as", who).stdout)
        return [one["name"] for one in said["tools"]]

    assert len(names("ada")) == 18
    assert names("token:reader") == ["orders__list", "orders__retrieve"]
    assert project.manage("handfast", "doctor", "--as", "bob") == Ended(
        1, "", "CommandError: There is no user of that name. A token is named with token: before its name.\n"
    )


def test_colours_are_for_terminals(project: Project) -> None:
    assert "\x1b" not in project.manage("handfast", "doctor").stdout
    with project.on_terminal("handfast", "doctor") as terminal:
        said = terminal.read()
    assert terminal.code == 0
    assert "\x1b[33;1mwarning handfast.W020\x1b[0m  shop.views.ContactSerializer" in said
