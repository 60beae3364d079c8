"""`handfast token`: what a person who hands out tokens sees, and what goes wrong clearly."""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handfast.access.refused import NEEDS_EXTRA
from tests.cli.conftest import Ran
from tests.contracts.rig import HANDFAST

Run = Callable[..., Ran]
TEXT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+\n")


@pytest.fixture
def token(handfast: Run, tmp_path: Path) -> Run:
    """`handfast token COMMAND …` on a state folder of its own."""

    def run(command: str, *arguments: str) -> Ran:
        return handfast("token", command, *arguments, "--state", str(tmp_path / "state"))

    return run


def listed(token: Run) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(token("list", "-o", "json").out)
    return found


@pytest.mark.requirement("001-6")
def test_only_the_text_goes_to_stdout_and_the_list_never_shows_it(token: Run) -> None:
    made = token(
        "create", "ci", "--for", "alice", "--scopes", "contacts:read git/*", "--groups", "dev,ops", "--expires", "12h"
    )
    assert TEXT.fullmatch(made.out)
    assert made.code == 0
    assert re.fullmatch(r"Token ci for alice, good for contacts:read git until [\dT:-]+Z\.\n", made.err)
    shown = token("list")
    (head, row) = shown.out.splitlines()
    assert head.split() == ["NAME", "FOR", "STATE", "SCOPES", "GROUPS", "EXPIRES", "ID"]
    assert row.split()[:5] == ["ci", "alice", "active", "contacts:read", "git"]
    assert made.out.strip() not in shown.out + token("list", "-o", "json").out
    (entry,) = listed(token)
    assert (entry["subject"], entry["scopes"], entry["groups"], entry["state"]) == (
        "alice",
        ["contacts:read", "git"],
        ["dev", "ops"],
        "active",
    )


def test_a_token_is_for_its_own_name_and_for_everything_unless_said_otherwise(token: Run) -> None:
    token("create", "robot")
    (entry,) = listed(token)
    assert (entry["subject"], entry["scopes"]) == ("robot", ["*"])


def test_an_empty_list_says_how_to_begin(token: Run) -> None:
    assert "handfast token create NAME" in token("list").err
    assert listed(token) == []


def test_a_revoked_token_stays_in_the_list_as_that(token: Run) -> None:
    token("create", "ci")
    assert token("revoke", "ci") == Ran(0, "Revoked ci.\n", "")
    assert [entry["state"] for entry in listed(token)] == ["revoked"]
    assert token("revoke", "ci") == Ran(1, "", "handfast: no token ci is in force. See: handfast token list\n")
    token("create", "ci")
    (name, ident) = (str(listed(token)[0][key]) for key in ("name", "id"))
    assert name == "ci"
    assert token("revoke", ident).code == 0


def test_all_tokens_of_a_caller_are_revoked_together(token: Run) -> None:
    for name in ("one", "two"):
        token("create", name, "--for", "alice")
    assert token("revoke", "--all-for", "alice") == Ran(0, "Revoked 2 tokens of alice.\n", "")
    assert token("revoke", "--all-for", "alice") == Ran(1, "Revoked 0 tokens of alice.\n", "")


def test_rotating_gives_the_same_rights_a_new_text(token: Run) -> None:
    first = token("create", "ci", "--for", "alice", "--scopes", "a:read", "--groups", "dev", "--expires", "30m")
    second = token("rotate", "ci")
    assert TEXT.fullmatch(second.out)
    assert second.out != first.out
    new, old = listed(token)
    assert [new["state"], old["state"]] == ["active", "revoked"]
    assert [new[key] for key in ("name", "subject", "scopes", "groups")] == [
        old[key] for key in ("name", "subject", "scopes", "groups")
    ]
    assert token("rotate", "nobody").code == 1


def test_rotating_the_key_keeps_tokens_good(token: Run, tmp_path: Path) -> None:
    token("create", "one")
    assert "stay good" in token("rotate", "--key").out
    token("create", "two")
    with sqlite3.connect(tmp_path / "state" / "access.db") as connection:
        assert connection.execute("SELECT count(DISTINCT key) FROM tokens").fetchone() == (2,)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("command", ["create", "rotate"])
def test_a_token_that_cannot_be_written_changes_nothing(token: Run, tmp_path: Path, command: str) -> None:
    if command == "rotate":
        token("create", "ci")
    before = [entry for entry in listed(token) if entry["state"] == "active"]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*HANDFAST, "token", command, "ci", "--state", str(tmp_path / "state")],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr == (
        "handfast: the token could not be written (No space left on device), so it was ended again.\n"
    )
    assert [entry for entry in listed(token) if entry["state"] == "active"] == before


WRONG = {
    "many scopes": (
        ["create", "ci", "--scopes", " ".join(f"server{n}/tool" for n in range(300))],
        "at most 4000 characters",
    ),
    "an Arabic digit": (["create", "ci", "--expires", "\u0663d"], "--expires takes a time"),
    "name": (["create", "a b"], "a token's name has letters, digits and _ . @ + -, at most 128 of them."),
    "colon": (["create", "ci", "--for", "corp:alice"], "a caller has letters"),
    "group": (["create", "ci", "--groups", "a b"], "a group has letters"),
    "scope": (["create", "ci", "--scopes", "git:sudo"], "after the colon stands none of read, write, admin"),
    "no scope": (["create", "ci", "--scopes", " "], "a token without scopes is good for nothing"),
    "time": (["create", "ci", "--expires", "soon"], "--expires takes a time such as 30m, 12h or 90d"),
    "no time": (["create", "ci", "--expires", "0d"], "--expires takes a time"),
    "long": (["create", "ci", "--expires", "99999d"], "at most 3650d"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_made(token: Run, given: list[str], said: str) -> None:
    ran = token(*given)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert listed(token) == []


def test_a_name_that_is_taken_is_said_with_what_to_do(token: Run) -> None:
    token("create", "ci")
    ran = token("create", "ci")
    assert (ran.code, ran.out) == (1, "")
    assert "handfast token rotate ci" in ran.err


def test_without_the_packages_it_says_what_to_install(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['cryptography'] = None; sys.modules['joserfc'] = None; "
    code = hidden + "from handfast.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for command in (["token", "list"], ["token", "create", "ci"]):
        ran = subprocess.run(
            [sys.executable, "-c", code, *command, "--state", str(tmp_path / "state")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 1
        assert ran.stderr == (f"handfast: {NEEDS_EXTRA}\n")
