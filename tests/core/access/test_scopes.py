"""Scopes: which are written how, and which tools each of them is good for."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handfast.core.access.scopes import KINDS, Scope, ScopeError, ScopeKind, kind_of, match, parse_scope, parse_scopes

NAMES = st.text(alphabet="ab_-.", min_size=1, max_size=8)
PATTERNS = st.text(alphabet="ab_*", min_size=1, max_size=8)
TOOL_PATTERNS = st.text(
    alphabet=st.characters(exclude_categories=("C", "Z"), exclude_characters=":*"), min_size=1, max_size=8
)
ANY_KIND: st.SearchStrategy[ScopeKind] = st.sampled_from(KINDS)
SCOPES = st.builds(Scope, PATTERNS, st.one_of(PATTERNS, TOOL_PATTERNS), st.none() | ANY_KIND)


def is_good(text: str, tool: str) -> bool:
    """`server/tool:kind`, the tool's own."""
    own = parse_scope(tool)
    return match(parse_scopes(text), server=own.server, tool=own.tool, kind=own.kind or "")


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("crm", Scope("crm")),
        ("crm/*", Scope("crm")),
        ("*", Scope("*")),
        ("**", Scope("*")),
        ("*:read", Scope("*", "*", "read")),
        ("crm:write", Scope("crm", "*", "write")),
        ("crm/contacts__*", Scope("crm", "contacts__*")),
        ("crm/contacts__**:admin", Scope("crm", "contacts__*", "admin")),
        ("my.files-2/read/file", Scope("my.files-2", "read/file")),
    ],
)
def test_a_scope_is_a_server_a_tool_and_a_kind(text: str, scope: Scope) -> None:
    assert parse_scope(text) == scope


FORM = "Write server, server/tool or either with :read, :write or :admin; * stands for any characters."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it names no server (* is any)"),
        (":read", "it names no server (* is any)"),
        ("/contacts", "it names no server (* is any)"),
        ("crm/", "after the slash stands no tool"),
        ("crm/:read", "after the slash stands no tool"),
        ("crm:", "after the colon stands none of read, write, admin"),
        ("crm:delete", "after the colon stands none of read, write, admin"),
        ("crm:Read", "after the colon stands none of read, write, admin"),
        ("c r m", "a server's name has only letters, digits, dot, dash and underscore"),
        ("crm?", "a server's name has only letters, digits, dot, dash and underscore"),
        ("crm/a:b:read", "a tool's name has no colon or space here"),
        ("crm/a b", "a tool's name has no colon or space here"),
        ("crm/a\x00", "a tool's name has no colon or space here"),
    ],
)
def test_what_is_no_scope_is_refused_in_one_line_that_says_what_to_write(text: str, problem: str) -> None:
    with pytest.raises(ScopeError) as refused:
        parse_scope(text)
    assert str(refused.value) == f"'{text.replace(chr(0), '?')}' is not a scope: {problem}. {FORM}"


def test_scopes_stand_in_one_text_each_once() -> None:
    assert parse_scopes(" crm:read\tfiles/a*\n crm:read crm/*:read ") == (
        Scope("crm", "*", "read"),
        Scope("files", "a*"),
    )
    assert parse_scopes(" ") == ()
    with pytest.raises(ScopeError):
        parse_scopes("crm files/ *")


@pytest.mark.requirement("D24")
@pytest.mark.parametrize(
    ("text", "good_for", "not_for"),
    [
        ("crm", ["crm/contacts__list:read", "crm/purge:admin"], ["crm2/a:read", "CRM/a:read"]),
        ("crm/contacts__*", ["crm/contacts__list:read", "crm/contacts__:write"], ["crm/sites__list:read"]),
        ("crm/*__list", ["crm/contacts__list:read"], ["crm/contacts__list2:read", "crm/list:read"]),
        ("crm:read", ["crm/contacts__list:read"], ["crm/contacts__create:write", "crm/purge:admin"]),
        # A kind is that kind alone: who may write is not told what is there unless that is said too.
        ("crm:write", ["crm/contacts__create:write"], ["crm/contacts__list:read", "crm/purge:admin"]),
        ("crm:admin", ["crm/purge:admin"], ["crm/contacts__list:read", "crm/contacts__create:write"]),
        ("crm:read crm/notes__*:write", ["crm/a:read", "crm/notes__create:write"], ["crm/a__create:write"]),
        ("*/a", ["crm/a:read", "files/a:write"], ["crm/b:read"]),
        ("", [], ["crm/a:read"]),
    ],
)
def test_a_scope_is_good_for_what_it_names_and_nothing_else(text: str, good_for: list[str], not_for: list[str]) -> None:
    assert [tool for tool in [*good_for, *not_for] if is_good(text, tool)] == good_for


@pytest.mark.requirement("D24")
@pytest.mark.parametrize(
    ("annotations", "kind"),
    [
        ({"readOnlyHint": True}, "read"),
        ({"readOnlyHint": True, "destructiveHint": True}, "read"),  # the second means nothing then
        ({"readOnlyHint": False, "destructiveHint": False}, "write"),
        ({"destructiveHint": False}, "write"),
        ({"destructiveHint": True}, "admin"),
        ({"readOnlyHint": False}, "admin"),
        ({"readOnlyHint": "true", "destructiveHint": 0}, "admin"),
        ({}, "admin"),
        (None, "admin"),
    ],
)
def test_the_kind_of_a_tool_is_what_its_annotations_say(annotations: dict[str, object] | None, kind: str) -> None:
    assert kind_of(annotations) == kind


@given(SCOPES)
def test_a_scope_that_is_written_down_is_read_back(scope: Scope) -> None:
    read = parse_scope(str(scope))
    assert str(read) == str(parse_scope(str(read)))
    assert read == Scope(re.sub(r"\*+", "*", scope.server), re.sub(r"\*+", "*", scope.tool), scope.kind)


@given(st.text())
def test_any_text_is_a_scope_or_is_refused_in_one_line(text: str) -> None:
    try:
        found = str(parse_scope(text))
    except ScopeError as refused:
        found = str(refused)
    assert found.isprintable()


@pytest.mark.requirement("D24")
@given(PATTERNS, NAMES)
@example("ab*ba", "aba")  # both ends fit, over each other
@example("a*a*a", "aa")
def test_a_star_stands_for_any_characters_and_nothing_else_does(pattern: str, name: str) -> None:
    meant = ".*".join(re.escape(part) for part in pattern.split("*"))
    is_meant = re.fullmatch(meant, name) is not None
    assert match([Scope(pattern)], server=name, tool="t", kind="read") == is_meant
    assert match([Scope("*", pattern)], server="s", tool=name, kind="read") == is_meant


@given(st.lists(SCOPES), SCOPES, NAMES, NAMES, ANY_KIND)
def test_another_scope_only_adds(scopes: list[Scope], other: Scope, server: str, tool: str, kind: str) -> None:
    alone = match(scopes, server=server, tool=tool, kind=kind)
    added = match([other], server=server, tool=tool, kind=kind)
    assert match([*scopes, other], server=server, tool=tool, kind=kind) == (alone or added)


@given(PATTERNS, NAMES, NAMES)
def test_the_three_kinds_together_are_as_good_as_none(pattern: str, server: str, tool: str) -> None:
    three = [Scope(pattern, "*", kind) for kind in KINDS]
    for kind in KINDS:
        asked = {"server": server, "tool": tool, "kind": kind}
        assert match(three, **asked) == match([Scope(pattern)], **asked)


def test_a_pattern_with_many_stars_costs_no_more_than_its_length() -> None:
    assert not match([Scope("*" + "a*" * 2_000 + "b")], server="a" * 10_000, tool="t", kind="read")


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        ("*", "git/log:read", True),
        ("git", "git/log", True),
        ("git/log", "git/log:read", True),
        ("git:read", "git/log:read", True),
        ("git:read", "git/log", False),
        ("git/log", "git", False),
        ("git/l*", "git/log", False),
        ("gi*", "git", False),
        ("git", "git", True),
        ("git", "github", False),
    ],
)
def test_a_scope_covers_another_only_if_that_is_plain_to_see(wide: str, narrow: str, *, is_covered: bool) -> None:
    assert parse_scope(wide).covers(parse_scope(narrow)) is is_covered
