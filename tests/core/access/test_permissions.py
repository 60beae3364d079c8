"""What scopes allow: servers, tools by kind, and prompts and resources only with a scope for the whole server."""

import pytest

from handfast.core.access.identity import Identity
from handfast.core.access.permissions import deny_call, deny_entry, deny_reading, may_call, may_enter, may_read
from handfast.core.access.scopes import ScopeKind, parse_scopes


def holder(scopes: str) -> Identity:
    return Identity(subject="alice", scopes=parse_scopes(scopes))


@pytest.mark.requirement("D24")
@pytest.mark.parametrize(
    ("scopes", "server", "may"),
    [
        ("git", "git", True),
        ("git:read", "git", True),
        ("git/log", "git", True),
        ("*", "git", True),
        ("gi*", "git", True),
        ("git", "github", False),
        ("git", "GIT", False),
        ("github", "git", False),
        ("", "git", False),
    ],
)
def test_a_server_is_open_to_whoever_may_use_anything_of_it(scopes: str, server: str, *, may: bool) -> None:
    assert may_enter(holder(scopes), server) is may


@pytest.mark.requirement("D24")
@pytest.mark.parametrize(
    ("scopes", "tool", "kind", "may"),
    [
        ("git", "log", "read", True),
        ("git", "push", "admin", True),
        ("git:read", "log", "read", True),
        ("git:read", "commit", "write", False),
        ("git:write", "log", "read", False),
        ("git/log", "log", "admin", True),
        ("git/log", "log2", "read", False),
        ("git/log", "lo", "read", False),
        ("git/log", "LOG", "read", False),
        ("git/l*:read", "log", "read", True),
        ("git/l*:read", "log", "write", False),
        ("other", "log", "read", False),
        ("*:read", "log", "read", True),
    ],
)
def test_a_tool_is_open_to_a_scope_of_its_name_and_kind(scopes: str, tool: str, kind: ScopeKind, *, may: bool) -> None:
    assert may_call(holder(scopes), "git", tool, kind) is may


@pytest.mark.requirement("D24")
@pytest.mark.parametrize(
    ("scopes", "may"),
    [("git", True), ("git:read", True), ("*", True), ("git:write", False), ("git/log", False), ("git/l*", False)],
)
def test_prompts_and_resources_are_open_to_whoever_may_read_all_of_a_server(scopes: str, *, may: bool) -> None:
    assert may_read(holder(scopes), "git") is may


def test_without_authentication_everybody_may_everything() -> None:
    assert may_enter(None, "git")
    assert may_call(None, "git", "push", "admin")
    assert may_read(None, "git")


def test_a_refusal_names_the_scope_that_would_do() -> None:
    for denied in (deny_entry("git"), deny_call("git", "push", "admin"), deny_reading("git", "the prompts")):
        assert denied.scope in denied.text
        server, kind = [*denied.scope.split(":"), "read"][:2]
        assert may_enter(holder(denied.scope), server)
        assert kind in ("read", "admin")
    assert may_call(holder(deny_call("git", "push", "admin").scope), "git", "push", "admin")
    assert may_read(holder(deny_reading("git", "the prompts").scope), "git")
