"""The methods of the protocol, and which of them a message may name: requests have an id, notifications have none."""

from typing import Final

from handfast.core.names import fold_name

# Every revision's. A method that is not here passes, if it cannot be taken for one of these.
REQUESTS: Final = frozenset(
    (
        "completion/complete",
        "elicitation/create",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "roots/list",
        "sampling/createMessage",
        "server/discover",
        "subscriptions/listen",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
        "tools/call",
        "tools/list",
    )
)
NOTIFICATIONS: Final = frozenset(
    (
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
        "notifications/tasks/status",
        "notifications/tools/list_changed",
    )
)
_PREFIX: Final = "notifications/"


_FOLDED: Final = frozenset(fold_name(name) for name in REQUESTS | NOTIFICATIONS)


def find_method_fault(method: str, *, has_id: bool) -> str | None:
    """Why a message with this method goes no further, or None.

    A server that dispatches by method runs a call without an id, and one that drops blanks or case runs a call that
    was not read as one here.
    """
    if method in REQUESTS if has_id else method in NOTIFICATIONS:
        return None  # nearly always
    if method.startswith(_PREFIX) == has_id:
        if has_id:
            return "A notification must not have an id. Leave the id out, or send a request."
        return "Only notifications/… may come without an id. Send the request with an id."
    folded = fold_name(method)
    if folded in _FOLDED or (has_id and folded.startswith(_PREFIX)):
        return "The method is spelled almost like one of the protocol's own. Send its exact name."
    return None
