"""`manage.py handfast token` in a real project: the text is shown once, on stdout alone."""

import json

import pytest

from tests.django.fresh_project import Ended, Project, make_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = make_project(tmp_path_factory.mktemp("project"))
    made.migrate()
    made.shell("from django.contrib.auth.models import User; User.objects.create_user('ada')")
    return made


def test_a_token_is_issued_listed_and_revoked(project: Project) -> None:
    assert project.manage("handfast", "token", "list").stdout.startswith("No tokens. Make one:")
    issued = project.manage(
        "handfast", "token", "issue", "ada", "--name", "writer", "--scopes", "*:read", "--days", "9"
    )
    text = issued.stdout.strip()
    assert (issued.code, text[:4], len(text)) == (0, "hfa_", 47)
    assert issued.stderr == f"writer ({text[:10]}…) acts for ada. Its text is shown now and never again.\n"
    (row,) = json.loads(project.manage("handfast", "token", "list", "--json").stdout)
    assert (row["name"], row["user"], row["scopes"], row["state"]) == ("writer", "ada", "*:read", "good")
    assert text not in json.dumps(row)
    shown = project.manage("handfast", "token", "list").stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["name", "writer"]
    assert project.manage("handfast", "token", "revoke", "writer").stdout == f"writer ({text[:10]}…) is revoked.\n"
    again = project.manage("handfast", "token", "revoke", "writer")
    assert again.stdout == f"writer ({text[:10]}…) was revoked before.\n"
    (row,) = json.loads(project.manage("handfast", "token", "list", "--json").stdout)
    assert row["state"] == "revoked"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["issue", "bob", "--name", "x"], "There is no such user. Make one with manage.py createsuperuser"),
        (["issue", "ada", "--name", "x", "--days", "0"], "--days must be a number from 1 to 36500."),
        (["issue", "ada", "--name", "x", "--scopes", "a b:c"], "'b:c' is not a scope"),
        (["revoke", "nobody"], "There is no token of that name. See: manage.py handfast token list"),
    ],
)
def test_what_cannot_be_done_is_one_line(project: Project, words: list[str], said: str) -> None:
    ended = project.manage("handfast", "token", *words)
    assert (ended.code, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert ended.stderr.startswith(f"CommandError: {said}")


def test_without_an_action_it_says_which_there_are(project: Project) -> None:
    ended = project.manage("handfast", "token")
    assert (ended.code, ended.stderr.count("\n")) == (2, 1)
    assert isinstance(ended, Ended)
    assert "ACTION" in ended.stderr
