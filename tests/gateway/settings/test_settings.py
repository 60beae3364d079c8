"""Loading settings: precedence, the resolved policy, and what is refused at start."""

import json
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from handfast.core.call.policy import (
    InputPolicy,
    Mode,
    OutputPolicy,
    Overrides,
    Posture,
    ToolPolicy,
    UnknownArguments,
)
from handfast.gateway.settings import (
    Origin,
    ServerSettings,
    Settings,
    SettingsError,
    Transport,
    find_settings_file,
    load_settings,
    trace_settings,
)
from tests.gateway.settings.dumping import dump_settings

EXAMPLE = {
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
        "github": {
            "url": "https://example.com/mcp",
            "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"},
            "handfast": {
                "output_validation": {"mode": "strict"},
                "tools": {"create_issue": {"unknown_arguments": "reject_all"}},
            },
        },
    },
    "input_validation": {"mode": "warn", "unknown_arguments": "reject_objects", "errors": "result"},
    "output_validation": {
        "mode": "warn",
        "max_bytes": 5242880,
        "max_depth": 64,
        "missing_structured_content": "allow",
    },
    "activity": {"store": "sqlite", "durability": "decisions", "bodies": "none"},
}


def write(folder: Path, document: object) -> Path:
    path = folder / "handfast.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def problems(
    folder: Path, document: object, environ: dict[str, str] | None = None, flags: dict[str, object] | None = None
) -> list[str]:
    """What is said about a file, without the folder it is in."""
    with pytest.raises(SettingsError) as refused:
        load_settings(write(folder, document), environ=environ or {}, flags=flags or {})
    assert str(refused.value) == "\n".join(refused.value.problems)
    return [problem.removeprefix(f"{folder}/") for problem in refused.value.problems]


def test_the_documented_example_loads_to_these_settings(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, EXAMPLE), environ={"GITHUB_TOKEN": "t0ken"})

    assert settings == Settings(
        servers=MappingProxyType(
            {
                "files": ServerSettings(
                    transport=Transport.STDIO,
                    command="npx",
                    args=("-y", "@modelcontextprotocol/server-filesystem", "."),
                ),
                "github": ServerSettings(
                    transport=Transport.HTTP,
                    url="https://example.com/mcp",
                    headers=MappingProxyType({"Authorization": "Bearer t0ken"}),
                    overrides=Overrides({}, {"mode": Mode.STRICT}),
                    tools={"create_issue": Overrides({"unknown_arguments": UnknownArguments.REJECT_ALL}, {})},
                ),
            }
        )
    )


def test_defaults_are_those_that_are_documented() -> None:
    settings = load_settings(None, environ={})

    assert settings == Settings()
    assert settings.listen_address == ("127.0.0.1", 8480)
    assert json.loads(dump_settings(settings)) == {
        "mcpServers": {},
        "input_validation": {
            "mode": "warn",
            "unknown_arguments": "reject_objects",
            "ignore": [],
            "errors": "result",
            "lenient_scalars": False,
            "formats": "annotate",
            "unknown_tools": None,
            "uncompilable_schema": None,
        },
        "output_validation": {
            "mode": "warn",
            "max_bytes": 5242880,
            "max_depth": 64,
            "formats": "annotate",
            "missing_structured_content": "allow",
            "uncompilable_schema": None,
            "guards_without_schema": False,
        },
        "auth": {"mode": "none", "public_url": None, "issuers": [], "scopes": []},
        "tls": {"certificate": None, "key": None},
        "activity": {
            "store": "sqlite",
            "durability": "decisions",
            "bodies": "none",
            "keep_days": None,
            "keep_bytes": 1024**3,
            "whole_refusals": 20,
            "on_failure": "refuse",
        },
        "limits": {
            "call_timeout_s": 300,
            "call_total_s": 3600,
            "body_bytes": 4194304,
            "message_bytes": 67108864,
            "list_bytes": 4194304,
            "connections": 4096,
            "requests_per_minute": None,
            "concurrent_calls": 256,
            "calls_per_server": 64,
            "queued_calls": 256,
            "queue_timeout_s": 30,
            "retry_idempotent": False,
            "drain_timeout_s": 5,
            "schema_bytes": 262144,
            "tools_per_server": 10000,
            "sessions": 16,
            "session_idle_s": 900,
            "question_timeout_s": 300,
            "handshake_timeout_s": 60,
            "learn_timeout_s": 5,
            "restarts": 10,
            "connection_failures": 5,
        },
        "listen": "127.0.0.1:8480",
        "allowed_hosts": [],
        "allowed_origins": [],
        "start": "eager",
    }


def test_a_tools_entry_lies_over_its_servers_and_that_over_the_global_blocks(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, EXAMPLE), environ={"GITHUB_TOKEN": "t"})

    assert settings.policy("files", "read") == ToolPolicy()
    assert settings.policy("github", "other") == ToolPolicy(output=OutputPolicy(mode=Mode.STRICT))
    assert settings.policy("github", "create_issue") == ToolPolicy(
        InputPolicy(unknown_arguments=UnknownArguments.REJECT_ALL), OutputPolicy(mode=Mode.STRICT)
    )
    assert settings.policy("nobody", "anything") == ToolPolicy()


def test_a_flag_wins_over_a_variable_and_that_over_the_file_but_a_servers_own_entry_over_all(tmp_path: Path) -> None:
    own = {"handfast": {"output_validation": {"max_depth": 9}}}
    document = {
        "mcpServers": {"plain": {"command": "a"}, "own": {"command": "a", **own}},
        "output_validation": {"max_depth": 1, "max_bytes": 1, "missing_structured_content": "block"},
    }
    environ = {"HANDFAST_OUTPUT_VALIDATION_MAX_DEPTH": "2", "HANDFAST_OUTPUT_VALIDATION_MAX_BYTES": "2"}

    traced = trace_settings(
        write(tmp_path, document), environ=environ, flags={"output_validation.max_depth": 3, "listen": None}
    )

    won = OutputPolicy(max_depth=3, max_bytes=2, missing_structured_content=Posture.BLOCK)
    assert traced.settings.policy("plain", "t").output == won
    assert traced.settings.policy("own", "t").output.max_depth == 9
    assert {key: origin for key, origin in traced.origins.items() if origin is not Origin.DEFAULT} == {
        "output_validation.max_depth": Origin.FLAG,
        "output_validation.max_bytes": Origin.ENVIRONMENT,
        "output_validation.missing_structured_content": Origin.FILE,
    }


def test_policies_do_not_pile_up_for_names_a_caller_invents(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, EXAMPLE), environ={"GITHUB_TOKEN": "t"})

    assert settings.policy("github", "made up") is settings.policy("github", "made up too")


@pytest.mark.requirement("004-4")
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("strct", 'must be one of off, warn, strict; got "strct"; did you mean "strict"?'),
        ("WARN ", 'must be one of off, warn, strict; got "WARN "; did you mean "warn"?'),
        ("", 'must be one of off, warn, strict; got ""'),
        (True, "must be one of off, warn, strict; got true"),
        (None, "must be one of off, warn, strict; got null"),
        (["warn"], "must be one of off, warn, strict; got a list"),
        ({}, "must be one of off, warn, strict; got an object"),
        ("x" * 40, "must be one of off, warn, strict; got a value that is none of these"),
    ],
)
def test_a_wrong_mode_is_refused_and_not_guessed(tmp_path: Path, wrong: object, said: str) -> None:
    document = {"mcpServers": {}, "output_validation": {"mode": wrong}}

    assert problems(tmp_path, document) == [f"handfast.json: output_validation.mode {said}"]


@pytest.mark.parametrize(
    ("key", "wrong", "said"),
    [
        ("output_validation.max_depth", 0, "must be a whole number from 1 to 500; got 0"),
        ("output_validation.max_depth", 501, "must be a whole number from 1 to 500; got 501"),
        ("output_validation.max_depth", 2.5, "must be a whole number from 1 to 500; got 2.5"),
        ("output_validation.max_depth", True, "must be a whole number from 1 to 500; got true"),
        ("output_validation.max_depth", "hunter2", "must be a whole number from 1 to 500"),
        ("output_validation.max_bytes", 0, "must be a whole number from 1 to 1073741824; got 0"),
        ("output_validation.guards_without_schema", 1, "must be true or false; got 1"),
        ("input_validation.ignore", "page", "must be a list of texts"),
        ("input_validation.ignore", ["a\nb"], "must not hold line breaks or other control characters"),
        (
            "activity.store",
            "mysql://me:pw@db",
            "must be sqlite, or a URL that starts with sqlite:// or postgresql://",
        ),
        ("activity.keep_days", 0, "must be a whole number from 1 to 36500 or null; got 0"),
        ("limits.call_timeout_s", 0, "must be a number above 0, at most 86400; got 0"),
        ("limits.concurrent_calls", 10**30, "must be a whole number from 1 to 100000"),
    ],
)
def test_wrong_types_and_ranges_are_refused_in_words(tmp_path: Path, key: str, wrong: object, said: str) -> None:
    block, name = key.split(".")

    assert problems(tmp_path, {"mcpServers": {}, block: {name: wrong}}) == [f"handfast.json: {key} {said}"]


@pytest.mark.parametrize("wrong", ["8480", "localhost", "localhost:65536", "http://x:1", ":80", "a b:1", "::1:80", 80])
def test_an_address_to_listen_on_is_host_and_port(tmp_path: Path, wrong: object) -> None:
    said = problems(tmp_path, {"mcpServers": {}, "listen": wrong})

    assert len(said) == 1
    assert said[0].startswith("handfast.json: listen must be host:port, such as 127.0.0.1:8480 or [::1]:8480")


@pytest.mark.parametrize(
    ("good", "address"),
    [("[::1]:65535", ("::1", 65535)), ("0.0.0.0:0", ("0.0.0.0", 0)), ("my-host:80", ("my-host", 80))],
)
def test_a_good_address_is_taken_apart(tmp_path: Path, good: str, address: tuple[str, int]) -> None:
    document = {"mcpServers": {}, "listen": good, "auth": {"mode": "token"}}
    settings = load_settings(write(tmp_path, document), environ={})

    assert settings.listen_address == address


@pytest.mark.parametrize("listen", ["0.0.0.0:8480", "[::]:8480", "192.0.2.1:80", "[2001:db8::1]:80"])
def test_an_address_that_others_reach_needs_callers_that_sign_in(tmp_path: Path, listen: str) -> None:
    (said,) = problems(tmp_path, {"mcpServers": {}, "listen": listen})
    assert "anybody there could call every tool" in said
    assert 'set auth.mode to "token", or listen on 127.0.0.1' in said
    flags = {"listen": listen}
    with pytest.raises(SettingsError, match="open to other machines"):
        load_settings(write(tmp_path, {"mcpServers": {}}), environ={}, flags=flags)
    asked = load_settings(write(tmp_path, {"mcpServers": {}}), environ={"HANDFAST_AUTH_MODE": "token"}, flags=flags)
    assert asked.listen == listen
    assert (
        load_settings(write(tmp_path, {"mcpServers": {}, "listen": "127.0.0.9:1"}), environ={}).listen_address[1] == 1
    )


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("allowed_hosts", ["http://x"]), ("allowed_hosts", "x"), ("allowed_hosts", ["*"]), ("allowed_origins", ["x"])],
)
def test_hosts_and_origins_are_checked(tmp_path: Path, key: str, wrong: object) -> None:
    assert [line.split(" must")[0] for line in problems(tmp_path, {"mcpServers": {}, key: wrong})] == [
        f"handfast.json: {key}"
    ]


def test_every_problem_is_reported_and_misspelt_keys_come_first(tmp_path: Path) -> None:
    document = {
        "mcpServers": {"a": {}},
        "limits": {"sessions": 0},
        "output_validation": {"mod": "strict"},
        "activity": [],
    }

    assert problems(tmp_path, document, {"HANDFAST_LISTEN": "x"}) == [
        'handfast.json: output_validation.mod is not a setting; did you mean "mode"?',
        "handfast.json: limits.sessions must be a whole number from 1 to 10000; got 0",
        "handfast.json: activity must be an object with keys such as store, durability, bodies",
        "HANDFAST_LISTEN must be host:port, such as 127.0.0.1:8480 or [::1]:8480",
        "handfast.json: mcpServers.a needs a command (a server to start) or a url (one to reach)",
    ]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("output_validaton", 'is not a setting; did you mean "output_validation"?'),
        ("inputValidation", 'is not a setting; did you mean "input_validation"?'),
        ("limit", 'is not a setting; did you mean "limits"?'),
        ("handfast", "belongs inside a server; write its blocks at the top level here"),
    ],
)
def test_a_top_level_key_close_to_ours_is_an_error(tmp_path: Path, key: str, said: str) -> None:
    assert problems(tmp_path, {"mcpServers": {}, key: {}}) == [f"handfast.json: {key} {said}"]


def test_keys_of_other_clients_are_left_alone(tmp_path: Path) -> None:
    theirs = {"$schema": "x", "inputs": [], "globalShortcut": "", "theme": "dark", "mode": 1, "tools": {}, "host": 1}
    entry = {"command": "a", "autoApprove": ["x"], "timeout": 60, "description": "d", "alwaysAllow": []}

    settings = load_settings(write(tmp_path, {"mcpServers": {"a": entry}, **theirs}), environ={})

    assert settings == Settings(servers={"a": ServerSettings(transport=Transport.STDIO, command="a")})


def test_a_key_in_the_wrong_block_is_sent_home(tmp_path: Path) -> None:
    document = {"mcpServers": {}, "input_validation": {"max_depth": 3, "isolation": "auto", "limits": {}, "zzz": 1}}

    assert problems(tmp_path, document) == [
        "handfast.json: input_validation.max_depth is not a setting here; it belongs in output_validation",
        'handfast.json: input_validation.isolation is not a setting here; it belongs in a server\'s "handfast" block',
        "handfast.json: input_validation.limits is not a setting here; it belongs at the top level of the file",
        (
            "handfast.json: input_validation.zzz is not a setting; "
            "the keys here are mode, unknown_arguments, ignore, errors, lenient_scalars, formats, unknown_tools, "
            "uncompilable_schema"
        ),
    ]


def test_a_body_limit_above_the_message_limit_is_refused(tmp_path: Path) -> None:
    document = {"mcpServers": {}, "limits": {"body_bytes": 2, "message_bytes": 1}}

    assert problems(tmp_path, document) == [
        "limits.body_bytes must not be above limits.message_bytes, which every message is held to"
    ]


def test_the_settings_file_is_the_chosen_one_then_the_variables_then_the_folders_then_the_users(
    tmp_path: Path,
) -> None:
    environ = {"HANDFAST_CONFIG": "/from/variable.json"}

    assert find_settings_file("chosen.json", environ=environ, folder=tmp_path) == Path("chosen.json")
    assert find_settings_file(None, environ=environ, folder=tmp_path) == Path("/from/variable.json")
    users = find_settings_file(None, environ={}, folder=tmp_path)
    assert users.parts[-2:] == ("handfast", "handfast.json")
    assert users.parent != tmp_path
    beside = write(tmp_path, {})
    assert find_settings_file(None, environ={}, folder=tmp_path) == beside


@pytest.mark.requirement("P7")
def test_settings_load_without_pydantic_mcp_or_a_server() -> None:
    script = (
        "import sys, handfast.gateway.settings, handfast.gateway.settings.watch;"
        "heavy = {'pydantic', 'mcp', 'uvicorn', 'jsonschema_rs', 'sqlite3', 'platformdirs', 'difflib'};"
        "print(sorted(heavy & sys.modules.keys()))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert (done.stdout, done.stderr) == ("[]\n", "")
