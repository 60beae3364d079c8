"""Server entries: names, transports, what is unsafe to start or send, and the server's own block."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.call.policy import Mode, Overrides, UnknownArguments
from handfast.gateway.settings import ServerSettings, Settings, SettingsError, Transport, load_settings
from handfast.gateway.settings.blocks import Bridge, Isolation, Surface
from handfast.gateway.settings.servers import name_problem

SECRET = "hunter2-hunter2"
EITHER = 'could mean either side; write "input_validation": {"mode": …} or "output_validation": {"mode": …}'


def load(folder: Path, document: object, environ: dict[str, str] | None = None) -> Settings:
    path = folder / "handfast.json"
    path.write_text(json.dumps(document), "utf-8")
    return load_settings(path, environ=environ or {})


def problems(folder: Path, document: object, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        load(folder, document, environ)
    return [problem.removeprefix(f"{folder}/handfast.json: ") for problem in refused.value.problems]


def entry_problems(folder: Path, entry: object, environ: dict[str, str] | None = None) -> list[str]:
    said = problems(folder, {"mcpServers": {"s": entry}}, environ)
    return [problem.removeprefix("mcpServers.s") for problem in said]


def test_servers_may_be_called_as_in_vs_code_but_not_both(tmp_path: Path) -> None:
    servers = {"s": {"type": "stdio", "command": "a"}}

    assert load(tmp_path, {"servers": servers}) == load(tmp_path, {"mcpServers": servers})
    assert problems(tmp_path, {"mcpServers": servers, "servers": servers}) == [
        "servers stands beside mcpServers, which is the same thing; keep one of them"
    ]


def test_a_file_without_servers_says_what_to_add(tmp_path: Path) -> None:
    assert problems(tmp_path, {}) == ['has no "mcpServers"; add it: {"mcpServers": {"name": {"command": …}}}']
    assert problems(tmp_path, {"mcpServers": []}) == ['mcpServers must be an object such as {"files": {"command": …}}']


def test_the_servers_of_zed_are_named_with_what_to_change(tmp_path: Path) -> None:
    assert problems(tmp_path, {"context_servers": {"a": {"command": "a"}}}) == [
        'context_servers is what Zed calls "mcpServers"; rename it'
    ]


@pytest.mark.parametrize(
    "own",
    ["enabled", "envFile", "timeout", "trust", "autoApprove", "alwaysAllow", "description", "includeTools", "tags"],
)
def test_what_other_clients_write_beside_it_is_left_alone(tmp_path: Path, own: str) -> None:
    settings = load(tmp_path, {"mcpServers": {"a": {"command": "a", own: True}}})
    assert settings.servers["a"].command == "a"


def test_a_file_of_policies_alone_will_do_where_the_server_comes_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "handfast.json"
    path.write_text("{}", "utf-8")

    assert load_settings(path, environ={}, needs_servers=False) == Settings()


@pytest.mark.requirement("D12")
@pytest.mark.parametrize("name", ["a__b", "__", "a_", "", ".", "..", "a b", "a/b", "ä", "a" * 65, "a\n"])
def test_a_server_name_that_could_not_be_told_from_its_tools_or_routed_is_refused(tmp_path: Path, name: str) -> None:
    said = problems(tmp_path, {"mcpServers": {name: {"command": "a"}}})

    assert len(said) == 1
    assert "is not a server name" in said[0]


@pytest.mark.requirement("D12")
@given(server=st.text("ab_.-", min_size=1, max_size=6), tool=st.text("ab_", min_size=1, max_size=6))
def test_a_combined_name_splits_in_one_way_only(server: str, tool: str) -> None:
    if name_problem(server) is None:
        assert f"{server}__{tool}".partition("__") == (server, "__", tool)


def test_names_that_differ_only_by_case_are_refused(tmp_path: Path) -> None:
    assert problems(tmp_path, {"mcpServers": {"Files": {"command": "a"}, "files": {"command": "b"}}}) == [
        "mcpServers.files differs from Files only by case; rename one"
    ]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, " needs a command (a server to start) or a url (one to reach)"),
        ({"comand": "a"}, ' needs a command (a server to start) or a url (one to reach); did you mean "command"?'),
        (
            {"command": "a", "url": "http://x"},
            " has both command and url; keep one: command starts a server, url reaches one",
        ),
        ([], " must be an object with a command or a url"),
        ({"command": ""}, ".command must be a text that is not empty"),
        ({"command": ["a"]}, ".command must be a text that is not empty"),
        ({"command": "a", "args": "b"}, ".args must be a list of texts; put numbers in quotes"),
        ({"command": "a", "args": [1]}, ".args must be a list of texts; put numbers in quotes"),
        ({"command": "a", "env": {"PORT": 1}}, ".env must be an object of texts; put numbers in quotes"),
        ({"command": "a", "env": {"A=B": ""}}, '.env["A=B"] cannot be an environment variable; rename it'),
        ({"command": "a\0"}, ".command holds a NUL character; remove it"),
        ({"command": "a", "disabled": "yes"}, ".disabled must be true or false"),
        ({"command": "a", "type": "http"}, ".type needs a url, but the server has the other; correct or remove it"),
        (
            {"url": "http://x", "transport": "stdio"},
            ".transport needs a command, but the server has the other; correct or remove it",
        ),
        ({"url": "http://x", "type": "websocket"}, ".type must be one of stdio, http, streamable-http, sse"),
        ({"url": "http://x", "type": 1}, ".type must be one of stdio, http, streamable-http, sse"),
        ({"url": "ftp://x"}, ".url must be an http:// or https:// address such as https://example.com/mcp"),
        ({"url": "http://x:99999"}, ".url must be an http:// or https:// address such as https://example.com/mcp"),
        ({"url": "http:///mcp"}, ".url must be an http:// or https:// address such as https://example.com/mcp"),
        ({"url": "http://x/a b"}, ".url may hold only printable ASCII without spaces; encode the rest with %"),
        ({"url": "http://u:p@x/"}, ".url must not hold a user or password; send them with headers"),
        ({"url": "http://x/#a"}, ".url must not have a #fragment; remove it"),
        ({"url": "http://x", "headers": {"a b": "c"}}, '.headers["a b"] is not a valid header name'),
        (
            {"url": "http://x", "headers": {"a": "b\r\nc: d"}},
            ".headers.a may hold only printable ASCII, no line breaks",
        ),
        (
            {"command": "a", "handfast": []},
            '.handfast must be an object such as {"output_validation": {"mode": "strict"}}',
        ),
        ({"command": "a", "handfst": {}}, '.handfst is not a setting; did you mean "handfast"?'),
        ({"command": "a", "evn": {}}, '.evn is not a setting; did you mean "env"?'),
        ({"command": "a", "arg": []}, '.arg is not a setting; did you mean "args"?'),
        ({"url": "http://a/", "headrs": {}}, '.headrs is not a setting; did you mean "headers"?'),
        ({"command": "a", "environment": {}}, '.environment is what some clients call "env"; rename it'),
        ({"serverUrl": "http://a/"}, '.serverUrl is what Windsurf calls "url"; rename it'),
        ({"httpUrl": "http://a/"}, '.httpUrl is what Gemini calls "url"; rename it'),
        (
            {"command": {"path": "a", "args": []}},
            '.command is an object, as Zed writes it; make it the path in it, with "args" and "env" beside it',
        ),
        (
            {"command": "~/a"},
            ".command begins with ~, which only a shell would replace; write the whole path, or ${HOME} for ~",
        ),
        (
            {"command": "a", "cwd": "~"},
            ".cwd begins with ~, which only a shell would replace; write the whole path, or ${HOME} for ~",
        ),
        (
            {"command": "a", "output_validation": {}},
            '.output_validation belongs inside the server\'s "handfast" block; move it',
        ),
    ],
)
def test_an_entry_that_cannot_work_is_refused(tmp_path: Path, entry: object, said: str) -> None:
    assert entry_problems(tmp_path, entry) == [said]


@pytest.mark.parametrize("key", ["type", "transport"])
@pytest.mark.parametrize("spelling", ["sse", "SSE"])
def test_sse_is_the_transport_of_a_url_that_says_so(tmp_path: Path, key: str, spelling: str) -> None:
    settings = load(tmp_path, {"mcpServers": {"s": {"url": "http://x/sse", key: spelling}}})

    assert settings.servers["s"] == ServerSettings(transport=Transport.SSE, url="http://x/sse")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "a", "type": "sse"}, ".type needs a url, but the server has the other; correct or remove it"),
        ({"url": "http://x", "type": "sse", "transport": "http"}, ".transport is another than type; keep one of them"),
        (
            {"url": "http://x", "type": "sse", "handfast": {"forward_headers": ["X-A"], "isolation": "shared"}},
            ".handfast.isolation is shared, and with sse forward_headers need a stream for each client; remove one",
        ),
    ],
)
def test_sse_where_it_cannot_be_is_refused(tmp_path: Path, entry: object, said: str) -> None:
    assert entry_problems(tmp_path, entry) == [said]


def test_with_sse_forwarded_headers_give_each_client_a_stream(tmp_path: Path) -> None:
    own = {"forward_headers": ["X-A"]}
    settings = load(tmp_path, {"mcpServers": {"s": {"url": "http://x/sse", "type": "sse", "handfast": own}}})

    assert settings.servers["s"].isolation is Isolation.SESSION


@pytest.mark.parametrize("spelling", ["http", "streamable-http", "streamableHttp", "streamable_http"])
def test_http_is_known_as_clients_write_it(tmp_path: Path, spelling: str) -> None:
    settings = load(tmp_path, {"mcpServers": {"s": {"url": "http://x/mcp", "type": spelling}}})

    assert settings.servers["s"] == ServerSettings(transport=Transport.HTTP, url="http://x/mcp")


@pytest.mark.requirement("S1")
@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "cookie",
        "Host",
        "Content-Type",
        "content-encoding",
        "Connection",
        "TE",
        "Expect",
        "Origin",
        "X-Forwarded-For",
        "X-HTTP-Method-Override",
        "Forwarded",
        "Transfer-Encoding",
        "Accept-Encoding",
        "Proxy-Authorization",
    ],
)
def test_headers_that_a_client_must_not_set_at_a_server_are_not_forwarded(tmp_path: Path, name: str) -> None:
    entry = {"url": "http://x/mcp", "handfast": {"forward_headers": ["X-Tenant", name]}}
    why = "describes the body, the connection or the caller, which a client must not do for a server; remove it"
    assert entry_problems(tmp_path, entry) == [f".handfast.forward_headers.{name} {why}"]


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("names", [["a b"], ["x_tenant"], [""], "X-Tenant", [7]])
def test_only_names_that_every_server_reads_alike_are_forwarded(tmp_path: Path, names: object) -> None:
    entry = {"url": "http://x/mcp", "handfast": {"forward_headers": names}}
    (found,) = problems(tmp_path, {"mcpServers": {"s": entry}})
    assert "forward_headers must be a list of header names without underscores, such as X-Tenant" in found


def test_a_servers_own_block_takes_flat_and_nested_keys(tmp_path: Path) -> None:
    own = {
        "unknown_arguments": "schema",
        "max_depth": 3,
        "input_validation": {"mode": "off", "ignore": ["page"]},
        "surface": "compact",
        "isolation": "session",
        "bridge": "off",
        "tools": {"a.b c": {"output_validation": {"mode": "strict"}, "guards_without_schema": True}},
    }

    server = load(tmp_path, {"mcpServers": {"s": {"command": "a", "handfast": own}}}).servers["s"]

    assert server == ServerSettings(
        transport=Transport.STDIO,
        command="a",
        surface=Surface.COMPACT,
        isolation=Isolation.SESSION,
        bridge=Bridge.OFF,
        overrides=Overrides(
            {"mode": Mode.OFF, "ignore": frozenset({"page"}), "unknown_arguments": UnknownArguments.SCHEMA},
            {"max_depth": 3},
        ),
        tools={"a.b c": Overrides({}, {"mode": Mode.STRICT, "guards_without_schema": True})},
    )


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"mode": "strict"}, f".mode {EITHER}"),
        (
            {"mdoe": "strict"},
            '.mdoe is not a setting; did you mean "mode" inside input_validation or output_validation?',
        ),
        (
            {"max_depth": 1, "output_validation": {"max_depth": 2}},
            ".max_depth is also written inside output_validation; keep one of them",
        ),
        ({"isolation": "none"}, '.isolation must be one of auto, shared, session; got "none"'),
        ({"durability": "all"}, ".durability is not a setting here; it belongs in activity"),
        ({"tools": []}, '.tools must be an object such as {"create_issue": {"unknown_arguments": "reject_all"}}'),
        ({"tools": {"": {}}}, ".tools has an entry with an empty name; write the tool's name"),
        ({"tools": {"t": 1}}, '.tools.t must be an object such as {"unknown_arguments": "reject_all"}'),
        ({"tools": {"t": {"mode": "off"}}}, f".tools.t.mode {EITHER}"),
        (
            {"tools": {"t": {"surface": "full"}}},
            '.tools.t.surface is not a setting here; it belongs in a server\'s "handfast" block',
        ),
        (
            {"tools": {"t": {"output_validation": {"mod": 1}}}},
            '.tools.t.output_validation.mod is not a setting; did you mean "mode"?',
        ),
    ],
)
def test_a_wrong_key_in_a_servers_block_is_refused(tmp_path: Path, own: object, said: str) -> None:
    assert entry_problems(tmp_path, {"command": "a", "handfast": own}) == [f".handfast{said}"]


def test_variables_are_filled_in_where_a_server_is_started_or_reached_and_nowhere_else(tmp_path: Path) -> None:
    document = {
        "mcpServers": {
            "a": {"command": "${X}", "args": ["${X}"], "env": {"K": "${X}", "${X}": "k"}, "cwd": "${X}"},
            "b": {"url": "http://${X}/", "headers": {"K": "${X}"}},
            "c": {"command": "${UNSET}", "disabled": True},
        },
        "input_validation": {"ignore": ["${X}"]},
    }

    settings = load(tmp_path, document, {"X": "v"})

    assert settings.servers == {
        "a": ServerSettings(transport=Transport.STDIO, command="v", args=("v",), env={"K": "v", "${X}": "k"}, cwd="v"),
        "b": ServerSettings(transport=Transport.HTTP, url="http://v/", headers={"K": "v"}),
        "c": ServerSettings(transport=Transport.STDIO, command="${UNSET}", disabled=True),
    }
    assert settings.input_validation.ignore == {"${X}"}


def test_an_unset_variable_is_named_with_its_place(tmp_path: Path) -> None:
    entry = {"command": "a", "args": ["x", "${MISSING}"], "env": {"TOKEN": "${TOKEN}"}}

    assert entry_problems(tmp_path, entry) == [
        ".args.1 needs the variable MISSING, which is not set; set it or write ${MISSING:-default}",
        ".env.TOKEN needs the variable TOKEN, which is not set; set it or write ${TOKEN:-default}",
    ]


def test_a_variable_cannot_smuggle_a_header_in(tmp_path: Path) -> None:
    entry = {"url": "http://x", "headers": {"Authorization": "${T}"}}

    assert entry_problems(tmp_path, entry, {"T": "a\r\nHost: evil"}) == [
        ".headers.Authorization may hold only printable ASCII, no line breaks"
    ]


def test_no_secret_shows_in_a_repr(tmp_path: Path) -> None:
    document = {
        "mcpServers": {
            "a": {"command": "a", "args": [SECRET], "env": {"K": SECRET}, "cwd": SECRET},
            "b": {"url": f"http://x/{SECRET}", "headers": {"K": SECRET}},
        },
        "activity": {"store": f"postgresql://u:{SECRET}@db/x"},
    }
    settings = load(tmp_path, document)

    shown = [repr(settings), str(settings), repr(settings.activity), repr(settings.activity.__rich_repr__())]
    assert [text for text in shown if SECRET in text] == []
    assert settings.servers["a"].env["K"] == SECRET


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "a", "args": SECRET},
        {"command": "a", "args": [SECRET, 1]},
        {"command": "a", "args": [f"{SECRET}${{"]},
        {"command": "a", "env": {"K": SECRET, "L": 1}},
        {"command": "a", "env": SECRET},
        {"command": "a", "env": {"K": f"{SECRET}\0"}},
        {"url": f"http://u:{SECRET}@x"},
        {"url": SECRET},
        {"url": f"http://x:{SECRET}/"},
        {"url": "http://x", "headers": {"K": f"{SECRET}\n"}},
        {"url": "http://x", "type": SECRET},
        {"command": "a", "handfast": {"max_depth": SECRET}},
        {"command": "a", "handfast": SECRET},
    ],
)
def test_no_secret_shows_in_an_error(tmp_path: Path, entry: object) -> None:
    assert [line for line in entry_problems(tmp_path, entry) if SECRET in line] == []
