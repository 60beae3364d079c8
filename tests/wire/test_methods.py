import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.words.printable import fold_name
from handfast.wire.message import BadMessage, read_message
from handfast.wire.methods import (
    ABOUT,
    CACHEABLE,
    CAPABILITY_ASKED,
    FOR_SESSION,
    HARMLESS,
    INTERACTIVE,
    LIST_KINDS,
    MODERN_TASK_REQUESTS,
    MUST_NAME,
    NOTIFICATIONS,
    ONLY_LEGACY,
    ONLY_MODERN,
    REQUESTS,
    TASK_REQUESTS,
    Purpose,
    find_method_fault,
    purpose_of,
)

pytestmark = pytest.mark.requirement("S2")


@pytest.mark.parametrize("method", sorted(REQUESTS))
def test_a_request_has_an_id(method: str) -> None:
    assert find_method_fault(method, has_id=True) is None
    assert find_method_fault(method, has_id=False) is not None


@pytest.mark.parametrize("method", sorted(NOTIFICATIONS))
def test_a_notification_has_none(method: str) -> None:
    assert find_method_fault(method, has_id=False) is None
    assert find_method_fault(method, has_id=True) is not None


def test_methods_of_extensions_pass_by_the_same_rule() -> None:
    assert find_method_fault("example.com/do-this", has_id=True) is None
    assert find_method_fault("example.com/do-this", has_id=False) is not None
    assert find_method_fault("notifications/example.com/done", has_id=False) is None
    assert find_method_fault("notifications/example.com/done", has_id=True) is not None


@given(
    name=st.sampled_from(sorted(REQUESTS | NOTIFICATIONS)),
    at=st.integers(0, 50),
    more=st.sampled_from(["\0", " ", "\t", "\n", "\u00a0", "\u2028", "\x1c"]),
    has_id=st.booleans(),
    is_upper=st.booleans(),
)
def test_no_other_spelling_of_a_known_method_passes(
    name: str, at: int, more: str, has_id: bool, is_upper: bool
) -> None:
    spelled = name[:at] + more + name[at:]
    assert find_method_fault(spelled.upper() if is_upper else spelled, has_id=has_id) is not None


@given(st.text(max_size=30), st.booleans())
def test_what_passes_is_known_or_folds_to_nothing_known(method: str, has_id: bool) -> None:
    known = REQUESTS if has_id else NOTIFICATIONS
    if find_method_fault(method, has_id=has_id) is None and method not in known:
        assert fold_name(method) not in {fold_name(name) for name in REQUESTS | NOTIFICATIONS}
        assert method.startswith("notifications/") is not has_id


def test_a_fault_is_answered_with_the_id_that_was_sent() -> None:
    with pytest.raises(BadMessage) as caught:
        read_message(b'{"jsonrpc":"2.0","id":7,"method":"notifications/cancelled"}')
    assert (caught.value.code, caught.value.id) == (-32600, 7)
    assert "must not have an id" in caught.value.reason


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ONLY_LEGACY - TASK_REQUESTS, FOR_SESSION | {"ping"}),
        (ONLY_MODERN - TASK_REQUESTS, {"server/discover", "subscriptions/listen"}),
        (TASK_REQUESTS - MODERN_TASK_REQUESTS, {"tasks/list", "tasks/result"}),
        (CACHEABLE, {*LIST_KINDS, "server/discover", "resources/read"}),
        (INTERACTIVE, {"tools/call", "prompts/get", "resources/read"}),
        (HARMLESS, (CACHEABLE | {"prompts/get", "completion/complete", "ping"})),
        (set(CAPABILITY_ASKED), {"elicitation/create", "roots/list", "sampling/createMessage"}),
        (set(ABOUT), INTERACTIVE | MODERN_TASK_REQUESTS),
        (set(MUST_NAME), INTERACTIVE),
        (
            {name for name in REQUESTS if purpose_of(name) is not Purpose.REQUEST},
            {"tools/call", "subscriptions/listen"},
        ),
    ],
)
def test_the_table_says_of_each_method_what_the_revisions_say(found: frozenset[str], expected: set[str]) -> None:
    assert found == expected


def test_a_message_that_names_no_method_of_the_protocol_is_a_plain_request() -> None:
    assert (purpose_of(None), purpose_of("example.com/own")) == (Purpose.REQUEST, Purpose.REQUEST)
