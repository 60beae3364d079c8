"""`handfast lint`: what is judged, how it is told, and how it ends."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from handfast.lint.findings import RULES
from tests.cli.conftest import Ran
from tests.demo import HANDFAST, ROOT
from tests.lint.project_files import write_files

Run = Callable[..., Ran]
PRE_COMMIT = str(ROOT / ".venv" / "bin" / "pre-commit")

HANDLER = """\
from handfast.toolkit import admin_tool


async def drop(*, app_state, arguments, actor=None):
    return app_state.drop()


admin_tool("drop", "Drop it.", handler=drop)
"""
UNGUARDED = """\
error mcp-admin-guardrail: `require_admin_guardrails` is not the first call of an admin tool's handler.
  Call require_admin_guardrails(arguments, actor) before anything else in this function.
  {place}: The handler of the admin tool 'drop': 'drop' does not call require_admin_guardrails itself.
"""
PYPROJECT = """\
[tool.handfast.lint]
boundaries = [{file = "src/auth.py", function = "decode", label = "jwt"}]
"""
NO_CALL = """\
error boundary-typed: A registered boundary does not call `parse_typed` with its label.
  Parse the payload here with parse_typed and the boundary's label written out.
  {place}: The boundary 'jwt': 'decode' does not call parse_typed. Call parse_typed("jwt", ...) in this function itself.
"""
NOTHING = "nothing to judge: no registered boundary, no admin tool with a handler, no tool definition"
ADVICE = (
    "To have boundaries judged, register them under [tool.handfast.lint] in pyproject.toml; to have tools judged,"
    " name a .json file of them, --toolbox MODULE:ATTRIBUTE, --server NAME or -- CMD (docs/lint.md).\n"
)
TOOLS = json.dumps([{"name": "get x", "description": "Get it.", "inputSchema": {"type": "object"}}])


# --- what is judged --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("001-17")
@pytest.mark.requirement("003-11")
@pytest.mark.parametrize("words", [[], ["."], ["src"], ["src/auth.py", "src/tools.py"], ["src/auth.py", "src"]])
def test_the_sources_of_a_users_project_are_judged(handfast: Run, tmp_path: Path, words: list[str]) -> None:
    write_files(
        tmp_path, {"pyproject.toml": PYPROJECT, "src/auth.py": "def decode(raw): ...\n", "src/tools.py": HANDLER}
    )
    expected = NO_CALL.format(place="src/auth.py:1") + UNGUARDED.format(place="src/tools.py:4")
    assert handfast("lint", *words) == Ran(1, expected, "judged 1 boundary and 1 admin handler in 2 files: 2 errors\n")


GUARDED = HANDLER.replace("    return", "    require_admin_guardrails(arguments, actor)\n    return").replace(
    "import admin_tool", "import admin_tool, require_admin_guardrails"
)
TYPED = "from handfast.boundary import parse_typed\n\n\ndef decode(raw):\n    return parse_typed('jwt', raw, dict)\n"


def test_nothing_found_is_quiet_on_stdout_and_says_what_was_judged(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": PYPROJECT, "src/auth.py": TYPED, "src/tools.py": GUARDED})
    judged = "judged 1 boundary and 1 admin handler in 2 files: nothing found\n"
    assert handfast("lint") == Ran(0, "", judged)
    assert handfast("lint", "src/tools.py").err == "judged 0 boundaries and 1 admin handler in 1 file: nothing found\n"
    assert handfast("lint", "-o", "json") == Ran(0, "[]\n", "")


def test_sources_with_nothing_that_can_be_judged_are_no_clean_bill(handfast: Run, tmp_path: Path) -> None:
    assert handfast("lint") == Ran(0, "", f"{NOTHING}\n{ADVICE}")
    write_files(tmp_path, {"a.py": "x = 1\n", "tools.json": "[]"})
    assert handfast("lint") == Ran(0, "", f"{NOTHING}\n{ADVICE}")
    assert handfast("lint", "a.py", "tools.json") == Ran(0, "", f"{NOTHING}\n{ADVICE}")


def test_what_was_found_but_not_judged_is_counted(handfast: Run, tmp_path: Path) -> None:
    rows = """[tool.handfast.lint]
        boundaries = [
            {file = "auth.py", function = "decode", label = "jwt"},
            {file = "auth.py", function = "gone", label = "gone"},
            {file = "none.py", function = "decode", label = "none"},
            {file = "auth.py", function = "decode", label = "loose", lenient = true},
        ]
    """
    unseen = "\nadmin_tool('wipe', 'Wipe.', handler=HANDLERS['wipe'])\n"
    write_files(tmp_path, {"pyproject.toml": rows, "auth.py": TYPED, "tools.py": GUARDED + unseen})
    judged = "judged 1 of 4 boundaries and 1 of 2 admin handlers in 2 files: 2 errors, 1 warning\n"
    assert handfast("lint").err == judged


def test_findings_of_one_kind_stand_under_one_heading_the_gravest_first(handfast: Run) -> None:
    names = ["b c", "a b"]
    tools = [{"name": name, "description": "It.", "inputSchema": {"type": "object"}} for name in names]
    Path("tools.json").write_text(json.dumps([*tools, {"name": "c", "description": "It."}]))
    ran = handfast("lint", "tools.json", "--select", "tool-name,tool-input-root,tool-open-root")
    assert [line for line in ran.out.splitlines() if not line.startswith("  ")] == [
        f"{RULES[rule_id].level} {rule_id}: {RULES[rule_id].summary}"
        for rule_id in ("tool-input-root", "tool-name", "tool-open-root")
    ]
    message = "The name is not 1 to 128 of letters, digits, '_', '.' and '-'."
    assert "\n".join(ran.out.splitlines()[3:7]) == "\n".join(
        [
            "warning tool-name: A tool's name is not made of 1 to 128 of `A-Z a-z 0-9 _ . -`.",
            "  Rename the tool.",
            f"  tools.json: a b/name: {message}",
            f"  tools.json: b c/name: {message}",
        ]
    )


def test_tool_definitions_in_a_file_are_judged_beside_sources(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "def (\n", "tools.json": TOOLS})
    ran = handfast("lint", "a.py", "tools.json")
    assert re.findall(r"^  (tools.json: .*?): ", ran.out, re.MULTILINE) == [
        "tools.json: get x/name",
        "tools.json: get x",
        "tools.json: get x/inputSchema",
    ]
    assert ran.out.startswith("error source-unreadable: ")
    judged = "judged 0 boundaries and 0 admin handlers in 1 file; 1 tool"
    assert (ran.code, ran.err) == (1, f"{judged}: 1 error, 1 warning, 2 info\n")


def test_a_file_that_is_no_python_is_a_finding_with_its_line(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "x = 1\ny = = 2\n"})
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    heading = "error source-unreadable: A file cannot be read as Python.\n  Correct the file, or leave it out.\n"
    found = f"{heading}  a.py:2: This is not Python {version}: invalid syntax.\n"
    assert handfast("lint", "a.py") == Ran(1, found, "nothing judged: 1 error\n")


def test_where_no_file_can_be_read_nothing_is_advised_but_to_correct_it(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "y = = 2\n", "b.py": "x = 1\n", "tools.json": "{}", "none.json": "[]"})
    assert handfast("lint", "a.py", "tools.json").err == "nothing judged: 2 errors\n"
    assert handfast("lint", "tools.json").err == "nothing judged: 1 error\n"
    for read in ("b.py", "none.json"):
        assert handfast("lint", "a.py", "tools.json", read).err == f"{NOTHING}: 2 errors\n{ADVICE}"
    assert handfast("lint", "a.py", "--ignore", "source-unreadable").err == f"{NOTHING}\n{ADVICE}"


# --- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--fail-on", "warning"], 1),
        (["--fail-on", "warning", "--ignore", "tool-name"], 0),
        (["--fail-on", "warning", "--select", "tool-open-*,tool-annotations-missing"], 0),
        (["--fail-on", "warning", "--select", "tool-*", "--ignore", "tool-na*", "--ignore", "tool-open-root"], 0),
    ],
)
def test_the_level_and_the_chosen_ids_decide_the_exit_code(
    handfast: Run, tmp_path: Path, words: list[str], code: int
) -> None:
    write_files(tmp_path, {"tools.json": TOOLS})
    assert handfast("lint", "tools.json", *words).code == code


def test_only_chosen_ids_are_told(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"tools.json": TOOLS})
    chosen = json.loads(handfast("lint", "tools.json", "--select", "tool-open-*, tool-name", "-o", "json").out)
    others = json.loads(handfast("lint", "tools.json", "--ignore", "tool-open-*, tool-name", "-o", "json").out)
    assert [finding["id"] for finding in chosen] == ["tool-open-root", "tool-name"]
    assert [finding["id"] for finding in others] == ["tool-annotations-missing"]


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["gone.py"], "gone.py: there is no such file or folder. Check the path."),
        (["gone.json"], "gone.json: there is no such file or folder. Check the path."),
        (["--select", "tool-nam"], "there is no finding 'tool-nam'; did you mean tool-name?"),
        (["--ignore", "zzz"], "there is no finding 'zzz'; docs/lint.md lists them all"),
        (["--"], "lint needs a command after --, such as: handfast lint -- npx -y SOME-SERVER"),
        (["--toolbox", "contacts"], "'contacts' is not module:attribute, such as contacts:tools"),
        (["--fail-on", "info"], None),
        (["-o", "xml"], None),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(handfast: Run, words: list[str], about: str | None) -> None:
    ran = handfast("lint", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert about is None or ran.err == f"handfast: {about}\n"


def test_a_wrong_registry_is_wrong_usage(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": "[tool.handfast.lint]\nboundarys = []\n", "a.py": ""})
    text = "pyproject.toml: tool.handfast.lint has no key 'boundarys'; did you mean boundaries?"
    assert handfast("lint") == Ran(2, "", f"handfast: {text}\n")


# --- how it is told --------------------------------------------------------------------------------------------------


def test_json_has_every_field(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"tools.json": TOOLS, "a.py": HANDLER})
    found = json.loads(handfast("lint", "a.py", "tools.json", "-o", "json", "--select", "tool-name,mcp-*").out)
    assert found == [
        {
            "id": "mcp-admin-guardrail",
            "level": "error",
            "message": "The handler of the admin tool 'drop': 'drop' does not call require_admin_guardrails itself.",
            "hint": "Call require_admin_guardrails(arguments, actor) before anything else in this function.",
            "file": "a.py",
            "line": 4,
            "origin": "",
            "tool": "",
            "path": "",
        },
        {
            "id": "tool-name",
            "level": "warning",
            "message": "The name is not 1 to 128 of letters, digits, '_', '.' and '-'.",
            "hint": "Rename the tool.",
            "file": "tools.json",
            "line": 0,
            "origin": "",
            "tool": "get x",
            "path": "name",
        },
    ]


def test_sarif_has_a_result_for_each_finding(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"tools.json": TOOLS})
    ran = handfast("lint", "tools.json", "-o", "sarif")
    run = json.loads(ran.out)["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == [
        "tool-annotations-missing",
        "tool-open-root",
        "tool-name",
    ]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert (ran.code, ran.err) == (0, "")


def test_a_name_cannot_harm_a_terminal(handfast: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"tools.json": json.dumps([{"name": "\x1b[31mred\n", "inputSchema": {}}])})
    assert "\x1b" not in handfast("lint", "tools.json").out


def test_on_a_terminal_levels_are_in_colour_and_nothing_is_cut(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": HANDLER})
    leader, follower = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    command = [str(HANDFAST), "lint", "a.py"]
    subprocess.run(command, cwd=tmp_path, stdout=follower, stderr=subprocess.DEVNULL, env=environment, check=False)
    os.close(follower)
    shown = os.read(leader, 65_536).decode().splitlines()
    os.close(leader)
    plain = UNGUARDED.format(place="a.py:4").splitlines()
    assert shown == [plain[0].replace("error", "\x1b[31merror\x1b[0m"), *plain[1:]]


# --- hooks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def hook() -> dict[str, object]:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["handfast-lint"]
    return dict(hooks[0])


@pytest.mark.requirement("001-17")
def test_pre_commit_accepts_the_hook_that_users_add_by_url() -> None:
    command = [PRE_COMMIT, "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.requirement("001-17")
@pytest.mark.requirement("003-11")
def test_pre_commit_runs_the_hook_on_a_users_files(hook: dict[str, object], tmp_path: Path) -> None:
    """Everything as users have it, but for the environment, which pre-commit would have to fetch."""
    entry = str(hook["entry"]).split()
    assert (entry[0], hook["language"]) == ("handfast", "python")
    local = hook | {"entry": " ".join([str(HANDFAST), *entry[1:]]), "language": "system"}
    config = {"repos": [{"repo": "local", "hooks": [local]}]}
    write_files(
        tmp_path,
        {
            ".pre-commit-config.yaml": yaml.safe_dump(config),
            "pyproject.toml": PYPROJECT,
            "src/auth.py": "def decode(raw): ...\n",
            "src/fine.py": "x = 1\n",
            "notes.txt": "def (\n",
        },
    )
    environment = os.environ | {"PRE_COMMIT_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    done = subprocess.run(
        [PRE_COMMIT, "run", "--all-files", "--color", "never"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert NO_CALL.format(place="src/auth.py:1") in done.stdout
    assert "judged 1 boundary and 0 admin handlers in 2 files: 1 error" in done.stdout


@pytest.mark.requirement("001-17")
def test_the_check_of_every_commit_and_of_ci_runs_it_on_handfast_itself() -> None:
    assert ".venv/bin/handfast lint src\n" in (ROOT / "scripts" / "check").read_text("utf-8")
    assert "scripts/check" in (ROOT / "scripts" / "test").read_text("utf-8")
    done = subprocess.run([HANDFAST, "lint", "src"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_judging_sources_loads_no_framework_and_nothing_of_the_gateway(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": HANDLER, "tools.json": TOOLS})
    script = (
        "import sys; from handfast.cli.main import main\n"
        "main(['lint', 'a.py', 'tools.json'])\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    unwanted = {"pydantic", "mcp", "uvicorn", "asyncio", "handfast.toolkit", "handfast.gateway", "handfast.boundary"}
    assert set(done.stderr.split()) & unwanted == set()
