"""The methods of the protocol, and which of them a message may name: requests have an id, notifications have none."""

from typing import Final
from unicodedata import normalize

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
# What a server offers, a page at a time.
LISTS: Final = frozenset(("prompts/list", "resources/list", "resources/templates/list", "tools/list"))
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


# Four times the longest of the protocol. To compare two spellings takes time that grows with the square of the length.
_LONGEST: Final = 256


def _bare(method: str) -> str:
    """Letters and digits alone: routers differ on slashes, dots and what cannot be seen."""
    return "".join(filter(str.isalnum, normalize("NFKC", method).casefold()))


_BARE: Final = frozenset(map(_bare, REQUESTS | NOTIFICATIONS))
_BARE_PREFIX: Final = _bare(_PREFIX)


def find_method_fault(method: str, *, has_id: bool) -> str | None:
    """Why a message with this method goes no further, or None.

    A server that dispatches by method runs a call without an id, and one that is lax about names runs a call that was
    not read as one here.
    """
    if method in REQUESTS if has_id else method in NOTIFICATIONS:
        return None  # nearly always
    if method.startswith(_PREFIX) == has_id:
        if has_id:
            return "A notification must not have an id. Leave the id out, or send a request."
        return "Only notifications/… may come without an id. Send the request with an id."
    if len(method) > _LONGEST:
        return f"The method's name has more than {_LONGEST} characters. Send one of the protocol's own."
    bare = _bare(method)
    if bare in _BARE or (has_id and bare.startswith(_BARE_PREFIX)):
        return "The method is spelled almost like one of the protocol's own. Send its exact name."
    return None
