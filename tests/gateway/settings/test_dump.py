"""Writing settings back, and showing them without their secrets."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.access.trusted import ALGORITHMS, TrustedIssuer
from handfast.core.call.policy import (
    InputErrors,
    InputPolicy,
    Mode,
    OutputPolicy,
    Overrides,
    Posture,
    UnknownArguments,
)
from handfast.core.call.recording import Durability, OnFailure
from handfast.gateway.settings import ServerSettings, Settings, Transport, load_settings, trace_settings
from handfast.gateway.settings.blocks import (
    Activity,
    Auth,
    AuthMode,
    Bodies,
    Bridge,
    Isolation,
    Limits,
    Start,
    Surface,
)
from handfast.gateway.settings.dump import masked_settings, masked_url
from handfast.gateway.settings.servers import name_problem
from tests.gateway.settings.dumping import dump_settings

# Any text that a process can be given: no NUL, no half surrogates; dollars and braces often.
TEXTS = st.text(
    st.sampled_from("${}a:-") | st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
)
FULL_TEXTS = TEXTS.filter(bool)
PATHS = FULL_TEXTS.filter(lambda text: not text.startswith("~"))  # which only a shell would replace
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
NAMES = st.text("abcAB019_.-", min_size=1, max_size=8).filter(lambda name: name_problem(name) is None)
SECONDS = st.floats(0.001, 86_400)

INPUT = {
    "mode": st.sampled_from(Mode),
    "unknown_arguments": st.sampled_from(UnknownArguments),
    "ignore": st.frozensets(LINES, max_size=3),
    "errors": st.sampled_from(InputErrors),
    "lenient_scalars": st.booleans(),
    "uncompilable_schema": st.none() | st.sampled_from(Posture),
}
OUTPUT = {
    "mode": st.sampled_from(Mode),
    "max_bytes": st.integers(1, 1024**3),
    "max_depth": st.integers(1, 500),
    "missing_structured_content": st.sampled_from(Posture),
    "uncompilable_schema": st.none() | st.sampled_from(Posture),
    "guards_without_schema": st.booleans(),
}
OVERRIDES = st.builds(Overrides, st.fixed_dictionaries({}, optional=INPUT), st.fixed_dictionaries({}, optional=OUTPUT))
OWN: Mapping[str, st.SearchStrategy[object]] = {
    "disabled": st.booleans(),
    "surface": st.sampled_from(Surface),
    "isolation": st.sampled_from(Isolation),
    "start": st.none() | st.sampled_from(Start),
    "bridge": st.sampled_from(Bridge),
    "forward_headers": st.lists(st.sampled_from(["X-Tenant", "x-key"]), max_size=2).map(tuple),
    "concurrent_calls": st.none() | st.integers(1, 100_000),
    "retry_idempotent": st.none() | st.booleans(),
    "overrides": OVERRIDES,
    "tools": st.dictionaries(FULL_TEXTS, OVERRIDES, max_size=2),
}
STDIO = st.builds(
    ServerSettings,
    transport=st.just(Transport.STDIO),
    command=PATHS,
    args=st.lists(TEXTS, max_size=3).map(tuple),
    env=st.dictionaries(FULL_TEXTS.filter(lambda name: "=" not in name), TEXTS, max_size=2),
    cwd=st.none() | PATHS,
    **OWN,
)
HTTP = st.builds(
    ServerSettings,
    transport=st.sampled_from((Transport.HTTP, Transport.SSE)),
    url=st.text("ab/$%{}-", max_size=8).map("https://example.com/".__add__),
    headers=st.dictionaries(st.text("abX-", min_size=1, max_size=5), ASCII, max_size=2),
    **OWN,
).filter(lambda server: server.transport is Transport.HTTP or not server.forward_headers)  # these decide on isolation
LIMITS = st.builds(
    Limits,
    call_timeout_s=SECONDS,
    body_bytes=st.integers(1, 1000),
    message_bytes=st.integers(1000, 1024**3),
    concurrent_calls=st.integers(1, 100_000),
    calls_per_server=st.integers(1, 100_000),
    queued_calls=st.integers(1, 100_000),
    queue_timeout_s=SECONDS,
    retry_idempotent=st.booleans(),
    drain_timeout_s=SECONDS,
    schema_bytes=st.integers(1, 64 * 1024**2),
    sessions=st.integers(1, 10_000),
    session_idle_s=SECONDS,
    learn_timeout_s=SECONDS,
    restarts=st.integers(1, 1000),
    connection_failures=st.integers(1, 1000),
)
ACTIVITY = st.builds(
    Activity,
    store=st.sampled_from(["sqlite", "sqlite:///a/b.db", "postgresql://u:p@db/x"]),
    durability=st.sampled_from(Durability),
    bodies=st.sampled_from(Bodies),
    keep_days=st.none() | st.integers(1, 36_500),
    keep_bytes=st.none() | st.integers(1024**2, 1024**5),
    whole_refusals=st.none() | st.integers(1, 100_000),
    on_failure=st.sampled_from(OnFailure),
)
ISSUER = st.builds(
    TrustedIssuer,
    name=st.sampled_from(["corp", "lab-2"]),
    issuer=st.sampled_from(["https://login.example/x", "http://127.0.0.1:8080"]),
    audiences=st.lists(st.sampled_from(["a", "https://b/mcp"]), max_size=2).map(tuple),
    jwks_url=st.none() | st.just("https://login.example/keys"),
    algorithms=st.sampled_from([("RS256",), ALGORITHMS]),
    groups_claim=st.sampled_from(["groups", "roles"]),
)
AUTH = st.builds(Auth, mode=st.sampled_from([AuthMode.NONE, AuthMode.TOKEN])) | st.builds(
    Auth,
    mode=st.just(AuthMode.OAUTH),
    public_url=st.sampled_from(["https://tools.example", "http://localhost:8480/"]),
    issuers=ISSUER.map(lambda issuer: (issuer,)),
    scopes=st.lists(st.sampled_from(["a:read", "b"]), max_size=2).map(tuple),
)
SETTINGS = st.builds(
    Settings,
    auth=AUTH,
    servers=st.lists(st.tuples(NAMES, STDIO | HTTP), max_size=3, unique_by=lambda pair: pair[0].lower()).map(dict),
    input_validation=st.builds(InputPolicy, **INPUT),
    output_validation=st.builds(OutputPolicy, **OUTPUT),
    activity=ACTIVITY,
    limits=LIMITS,
    start=st.sampled_from(Start),
    listen=st.sampled_from(["127.0.0.1:8480", "[::1]:0", "a-b.example:65535"]),
    allowed_hosts=st.lists(st.sampled_from(["a.example", "b:81", "[::1]:80"]), max_size=2).map(tuple),
    allowed_origins=st.lists(st.sampled_from(["https://a.example", "vscode-webview://x"]), max_size=2).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(SETTINGS)
def test_any_settings_dump_to_a_file_that_loads_to_equal_ones(
    tmp_path_factory: pytest.TempPathFactory, made: Settings
) -> None:
    path = tmp_path_factory.getbasetemp() / "dumped.json"
    path.write_text(dump_settings(made), "utf-8")

    assert load_settings(path, environ={}) == made


def test_what_is_shown_has_origins_and_no_secrets(tmp_path: Path) -> None:
    secret = "hunter2"
    document = {
        "mcpServers": {
            "a": {"command": "npx", "args": [secret], "env": {"TOKEN": secret}, "cwd": "/srv"},
            "b": {"url": f"https://h:81/{secret}?k={secret}", "headers": {"Authorization": secret}, "disabled": True},
        },
        "activity": {"store": f"postgresql://u:{secret}@db:5432/{secret}"},
    }
    path = tmp_path / "handfast.json"
    path.write_text(json.dumps(document), "utf-8")

    shown = masked_settings(trace_settings(path, environ={"HANDFAST_LIMITS_SESSIONS": "3"}, flags={"listen": "h:1"}))

    assert secret not in json.dumps(shown)
    own: dict[str, object] = {"forward_headers": [], "concurrent_calls": None, "retry_idempotent": None, "start": None}
    posture: dict[str, object] = {"surface": "full", "isolation": "auto", "bridge": "auto", **own, "tools": {}}
    assert shown["servers"] == {
        "a": {
            "transport": "stdio",
            "command": "npx",
            "args": ["***"],
            "env": {"TOKEN": "***"},
            "cwd": "/srv",
            "handfast": posture,
        },
        "b": {
            "transport": "http",
            "url": "https://h:81/***",
            "headers": {"Authorization": "***"},
            "disabled": True,
            "handfast": posture,
        },
    }
    values = shown["settings"]
    assert isinstance(values, dict)
    assert {key: value for key, value in values.items() if value["origin"] != "default"} == {
        "activity.store": {"value": "postgresql://db:5432/***", "origin": "file"},
        "limits.sessions": {"value": 3, "origin": "environment"},
        "listen": {"value": "h:1", "origin": "flag"},
    }


@given(st.text(max_size=30))
def test_masking_any_url_gives_one_without_user_or_path(rest: str) -> None:
    shown = masked_url(f"https://user:{'pass'}@host/{rest}")

    assert shown in ("https://host/***", "***")
