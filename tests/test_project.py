"""The project itself: its scripts, its commands, its hooks, and what its files may not hold."""

import ast
import json
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import handfast
from handfast.cli.main import COMMANDS
from tests.demo import HANDFAST, ROOT, running_demo

SRC = ROOT / "src" / "handfast"
SUBCOMMANDS = [
    *([name] for name in COMMANDS),
    *(["activity", name] for name in ("list", "show", "watch", "summary", "export", "verify")),
    *(["config", name] for name in ("schema", "check", "show", "init", "path")),
]

# Modules without a test file of their own: parts of what these tests import, at most one import away.
TESTED_WITH = {
    "core/words/secrets_in_text.py": "core/words/test_redaction.py",
    "cli/activity_views.py": "cli/test_activity.py",
    "core/bounds.py": "attacks/test_too_much.py",
    "core/call/exchange.py": "activity/test_chain.py",
    "core/call/recording.py": "activity/test_recorder.py",
    "core/schema/costs.py": "core/schema/test_weight.py",
    "core/schema/references.py": "core/schema/test_weight.py",
    "django/discovery/drf_types.py": "django/discovery/schemas/test_field_schemas.py",
    "django/discovery/tool.py": "django/discovery/test_discover.py",
    "gateway/edge/connection_owner.py": "gateway/edge/test_client_connection.py",
    "gateway/process/pipe.py": "gateway/process/test_event_pipe.py",
    "gateway/settings/blocks.py": "gateway/settings/test_environment.py",
    "gateway/settings/check.py": "gateway/settings/test_environment.py",
    "gateway/settings/keys.py": "gateway/settings/test_reference.py",
    "gateway/settings/server.py": "gateway/settings/test_servers.py",
    "toolkit/serve/answering.py": "toolkit/serve/test_misread_messages.py",
    "toolkit/running/call_result.py": "toolkit/offering/test_renamed.py",
    "toolkit/running/questions.py": "toolkit/serve/test_asking.py",
    "toolkit/testing/blocked_loops.py": "toolkit/testing/test_contract.py",
    "toolkit/testing/driving.py": "toolkit/testing/test_contract.py",
    "toolkit/testing/judging.py": "toolkit/testing/generate/test_arguments.py",
    "toolkit/testing/refusals.py": "toolkit/testing/test_contract.py",
    "toolkit/testing/schema_checks.py": "toolkit/testing/test_contract.py",
    "toolkit/testing/generate/values.py": "toolkit/testing/generate/test_arguments.py",
    "toolkit/testing/watch.py": "toolkit/testing/test_contract.py",
    "toolkit/running/unrun.py": "toolkit/offering/test_protocol_calls.py",
    "wire/codes.py": "wire/test_message.py",
}
# Modules that mean something only in a running process, and the tests that drive one through them.
DRIVEN_BY = {
    "django/apps.py": "django/test_models.py",
    "django/migrations/0001_initial.py": "django/test_models.py",
    "gateway/admission/server_era.py": "gateway/test_endpoint.py",
    "gateway/build.py": "gateway/test_endpoint.py",
    "gateway/translate/servers/inbox.py": "gateway/translate/servers/test_faults.py",
    "gateway/translate/servers/http_line.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/http_sessions.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/legacy_call.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/legacy_listen.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/legacy_server.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/line.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/modern_server.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/era_probe.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/stdio_line.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/translate/servers/stdio_sessions.py": "gateway/translate/servers/test_judged_server.py",
    "gateway/relay/child_sessions.py": "gateway/relay/test_stdio_relay.py",
    "gateway/process/children.py": "gateway/relay/test_stdio_relay.py",
    "gateway/relay/event_relay.py": "gateway/relay/test_http_relay.py",
    "gateway/calls/learnt_lists.py": "attacks/test_too_much.py",
    "gateway/calls/pending.py": "gateway/calls/test_conversation.py",
    "gateway/calls/judged_calls.py": "gateway/calls/test_conversation.py",
    "gateway/refused_calls.py": "gateway/test_all_servers.py",
    "gateway/relay/post_relay.py": "gateway/relay/test_http_relay.py",
    "gateway/http/upstream_clients.py": "attacks/test_listening.py",
    "gateway/calls/server_side.py": "gateway/calls/test_conversation.py",
    "toolkit/writing/call.py": "toolkit/serve/test_serving.py",
    "toolkit/running/outcome_counts.py": "toolkit/serve/test_serving.py",
    "toolkit/running/recording.py": "toolkit/serve/test_serving.py",
    "toolkit/writing/reply.py": "toolkit/serve/test_serving.py",
    "toolkit/writing/schemas.py": "toolkit/serve/test_serving.py",
    "toolkit/running/arguments_model.py": "toolkit/serve/test_serving.py",
    "toolkit/writing/spec.py": "toolkit/serve/test_serving.py",
    "toolkit/toolbox.py": "toolkit/serve/test_serving.py",
}


def run(*command: str | Path, cwd: Path = ROOT, timeout: float = 30) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=timeout, check=False)


def paste(command: str) -> "subprocess.CompletedProcess[str]":
    return run("bash", "-c", command)


# --- scripts/serve ---------------------------------------------------------------------------------------------------


def test_the_commands_that_serve_prints_show_a_pass_a_warning_and_a_rejection(tmp_path: Path) -> None:
    with running_demo(tmp_path / "a state") as demo:
        folder, passing, warning, rejection, record = demo.commands
        assert paste(f"{folder} && pwd").stdout == f"{ROOT}\n"

        passed = paste(passing)
        assert (passed.returncode, passed.stderr, json.loads(passed.stdout)) == (0, "", {"created": True, "id": 1})

        warned = paste(warning)
        assert (warned.returncode, json.loads(warned.stdout)) == (0, {"total": "1", "with_email": 1})

        rejected = paste(rejection)
        assert rejected.returncode == 1
        assert rejected.stdout.startswith("Argument 'data' is not a declared field and its value is a nested object.")

        listed = paste(f"{record} -o json")
        assert [(r["type"], r["status"], r["tool"], r["rule"]) for r in json.loads(listed.stdout)] == [
            ("tool_call", "blocked", "create_contact", "arguments.nested_wrapper"),
            ("policy_decision", "blocked", "create_contact", "arguments.nested_wrapper"),
            ("policy_decision", "warning", "contact_stats", "result.schema"),
        ]


def test_ctrl_c_stops_serve_cleanly(tmp_path: Path) -> None:
    with running_demo(tmp_path) as demo:
        assert paste(demo.commands[1]).returncode == 0  # so that there is a child to stop, too
        demo.process.send_signal(signal.SIGINT)
        _, said = demo.process.communicate(timeout=20)
    assert demo.process.returncode == 0
    assert "Traceback" not in said
    assert run(HANDFAST, "activity", "verify", "--state", tmp_path).returncode == 0


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with running_demo(tmp_path / "one") as demo:
        address = demo.url.removeprefix("http://")
        second = run(ROOT / "scripts" / "serve", "--listen", address, "--state", tmp_path / "two")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == (
        f"handfast: cannot listen on {address}: Address already in use."
        " Stop what uses it, or choose another with --listen.\n"
    )


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], *SUBCOMMANDS], ids=" ".join)
def test_help_prints_usage(command: list[str]) -> None:
    shown = run(HANDFAST, *command, "--help", timeout=10)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"usage: {' '.join(['handfast', *command])}")


@pytest.mark.parametrize("command", [[], *SUBCOMMANDS], ids=" ".join)
def test_a_wrong_flag_is_one_line_and_exit_code_two(command: list[str]) -> None:
    refused = run(HANDFAST, *command, "--no-such-flag", timeout=10)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert re.fullmatch(rf"handfast: .*; see: {' '.join(['handfast', *command[:1]])}.* --help\n", refused.stderr)


def test_the_version_is_the_same_everywhere() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert declared == handfast.__version__
    assert run(HANDFAST, "--version").stdout == f"handfast {declared}\n"


# --- what is loaded --------------------------------------------------------------------------------------------------


def loaded_by(statement: str, *suspects: str) -> list[str]:
    """Which of the suspects a fresh interpreter has loaded after the statement."""
    program = f"import sys; {statement}; print(*(name for name in {suspects!r} if name in sys.modules))"
    done = run(sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.requirement("P7")
def test_importing_handfast_loads_no_framework_store_or_server() -> None:
    assert loaded_by("import handfast", "uvicorn", "sqlite3", "jsonschema_rs", "pydantic", "mcp") == []


@pytest.mark.requirement("P7")
@pytest.mark.requirement("D6")
@pytest.mark.parametrize(
    ("command", "unwanted"),
    [("wrap", ("pydantic", "mcp", "uvicorn")), ("serve", ("pydantic", "mcp", "starlette", "uvicorn"))],
)
def test_a_command_loads_only_what_it_needs(command: str, unwanted: tuple[str, ...]) -> None:
    # The imports of a command stand inside its functions, so every import statement of its file is carried out.
    source = (SRC / "cli" / f"{command}.py").read_text("utf-8")
    needed = {match[1] for match in re.finditer(r"^\s*from (handfast[\w.]*) import", source, re.MULTILINE)}
    assert "handfast.gateway.runtime" in needed
    statement = "; ".join(f"import {name}" for name in sorted({*needed, f"handfast.cli.{command}"}))
    assert loaded_by(statement, *unwanted) == []


# --- hooks, files, modules -------------------------------------------------------------------------------------------


def test_every_hook_is_local_and_its_command_exists() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    names = ["ruff-format", "ruff-check", "mypy", "lint-imports", "house-limits", "handfast-lint"]
    assert [hook["id"] for hook in hooks] == names
    assert [hook["id"] for hook in hooks if not (ROOT / hook["entry"].split()[0]).exists()] == []


def test_the_hooks_are_the_pieces_of_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    check = (ROOT / "scripts" / "check").read_text("utf-8")
    tools = [line.split()[0] for line in check.splitlines() if line.startswith(".venv/bin/")]
    assert [hook["entry"].split()[0] for hook in hooks] == tools


def project_files() -> list[Path]:
    """Every file that is or would be committed."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_holds_a_machine_path_or_a_registry_address() -> None:
    unwanted = re.compile(
        rb"/(?:home|Users)/(?!ada\b)[a-z]|/root/|[A-Z]:\\\\Users|/work/|"
        rb"registry\.npmjs|files\.pythonhosted|pypi\.org/simple|index-url\s*[=:]\s*\S|extra-index-url|"
        rb"\"resolved\":\s*\"http"
    )
    found = {
        f"{path.relative_to(ROOT)}: {match[0].decode(errors='replace')}"
        for path in project_files()
        if path != Path(__file__)
        for match in unwanted.finditer(path.read_bytes())
    }
    assert found == set()


def modules() -> list[str]:
    return sorted(path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py") if path.name != "__init__.py")


def mirror(module: str) -> Path:
    path = Path(module)
    return ROOT / "tests" / path.parent / f"test_{path.name}"


def test_every_module_has_its_tests() -> None:
    bare = [name for name in modules() if not mirror(name).exists() and name not in TESTED_WITH | DRIVEN_BY]
    assert bare == [], f"no tests mirror these: {', '.join(bare)}"


def test_the_lists_of_modules_tested_elsewhere_name_only_such_modules() -> None:
    listed = TESTED_WITH | DRIVEN_BY
    assert sorted(set(listed) - set(modules())) == [], "these modules are gone"
    assert [name for name in listed if mirror(name).exists()] == [], "these have tests of their own by now"
    assert [file for file in listed.values() if not (ROOT / "tests" / file).exists()] == []


def imported_by(path: Path) -> set[str]:
    """The modules of ours that a file imports, as paths below src/handfast."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("handfast"):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {f"{name.removeprefix('handfast.').replace('.', '/')}.py" for name in names}
    return {name for name in found if (SRC / name).exists()}


@pytest.mark.parametrize("module", TESTED_WITH)
def test_a_module_tested_elsewhere_is_imported_there(module: str) -> None:
    direct = imported_by(ROOT / "tests" / TESTED_WITH[module])
    assert module in direct.union(*(imported_by(SRC / name) for name in direct))


@pytest.mark.parametrize("file", sorted(set(DRIVEN_BY.values())))
def test_a_test_that_drives_modules_starts_a_process(file: str) -> None:
    source = (ROOT / "tests" / file).read_text("utf-8")
    assert re.search(r"tests\.(demo|contracts\.\w+|gateway\.running) import|subprocess", source)
