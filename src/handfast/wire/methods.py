"""What is known of each method of the protocol: one table, and the sets that the gateway asks it for."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Final
from unicodedata import normalize


class Eras(Enum):
    """The revisions that have a method."""

    BOTH = auto()
    LEGACY = auto()
    MODERN = auto()


class Purpose(IntEnum):
    """What a message to a server is for: each has connections of its own. A number, because that is hashed faster."""

    CALL = auto()  # a call, or the list of tools that it is judged by
    REQUEST = auto()  # whatever else a client sends
    NOTICE = auto()  # what handfast tells the server itself: nobody waits for it
    LISTENING = auto()  # a stream that may never end


@dataclass(frozen=True, slots=True)
class ListKind:
    """What a server offers, a page at a time."""

    method: str
    key: str  # where the items stand in the result
    identity: str  # what tells an item from the others
    capability: str
    is_named: bool  # whether items have a name, which is made unique where servers stand side by side


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    name: str
    eras: Eras = Eras.BOTH
    purpose: Purpose = Purpose.REQUEST
    about: str = ""
    """The member of params that says what is meant; 2026-07-28 has it repeated in the header Mcp-Name."""
    items: tuple[str, str, str] | None = None
    """Of a list: where the items stand, what tells them apart, and the capability that offers them."""
    is_harmless: bool = False
    """It changes nothing, so it may be sent a second time."""
    is_cacheable: bool = False
    """A modern answer says how long it may be kept."""
    is_interactive: bool = False
    """Its answer may ask the client for something first."""
    is_of_task: bool = False
    is_for_session: bool = False
    """What it sets holds for the session, in a process that several share for all of them."""
    capability: str = ""
    """Of a server's request to its client: what the client must have declared."""

    @property
    def is_notification(self) -> bool:
        return self.name.startswith(_PREFIX)


_PREFIX: Final = "notifications/"
# Every revision's. A method that is not here passes, if it cannot be taken for one of these.
METHODS: Final = (
    Method(name="completion/complete", is_harmless=True),
    Method(name="elicitation/create", capability="elicitation"),
    Method(name="initialize", eras=Eras.LEGACY, is_for_session=True),
    Method(name="logging/setLevel", eras=Eras.LEGACY, is_for_session=True),
    Method(name="ping", eras=Eras.LEGACY, is_harmless=True),
    Method(name="prompts/get", about="name", is_harmless=True, is_interactive=True),
    Method(name="prompts/list", items=("prompts", "name", "prompts"), is_harmless=True, is_cacheable=True),
    Method(name="resources/list", items=("resources", "uri", "resources"), is_harmless=True, is_cacheable=True),
    Method(name="resources/read", about="uri", is_harmless=True, is_cacheable=True, is_interactive=True),
    Method(name="resources/subscribe", eras=Eras.LEGACY, is_for_session=True),
    Method(
        name="resources/templates/list",
        items=("resourceTemplates", "uriTemplate", "resources"),
        is_harmless=True,
        is_cacheable=True,
    ),
    Method(name="resources/unsubscribe", eras=Eras.LEGACY, is_for_session=True),
    Method(name="roots/list", capability="roots"),
    Method(name="sampling/createMessage", capability="sampling"),
    Method(name="server/discover", eras=Eras.MODERN, is_harmless=True, is_cacheable=True),
    Method(name="subscriptions/listen", eras=Eras.MODERN, purpose=Purpose.LISTENING),
    Method(name="tasks/cancel", about="taskId", is_of_task=True),
    Method(name="tasks/get", about="taskId", is_of_task=True),
    Method(name="tasks/list", eras=Eras.LEGACY, is_of_task=True),
    Method(name="tasks/result", eras=Eras.LEGACY, is_of_task=True),
    Method(name="tasks/update", eras=Eras.MODERN, about="taskId", is_of_task=True),
    Method(name="tools/call", purpose=Purpose.CALL, about="name", is_interactive=True),
    Method(name="tools/list", items=("tools", "name", "tools"), is_harmless=True, is_cacheable=True),
    Method(name="notifications/cancelled"),
    Method(name="notifications/elicitation/complete", eras=Eras.LEGACY),
    Method(name="notifications/initialized", eras=Eras.LEGACY),
    Method(name="notifications/message"),
    Method(name="notifications/progress"),
    Method(name="notifications/prompts/list_changed"),
    Method(name="notifications/resources/list_changed"),
    Method(name="notifications/resources/updated"),
    Method(name="notifications/roots/list_changed", eras=Eras.LEGACY),
    Method(name="notifications/subscriptions/acknowledged", eras=Eras.MODERN),
    Method(name="notifications/tasks", eras=Eras.MODERN, is_of_task=True),
    Method(name="notifications/tasks/status", eras=Eras.LEGACY, is_of_task=True),
    Method(name="notifications/tools/list_changed"),
)


def _select(fits: Callable[[Method], object]) -> frozenset[str]:
    return frozenset(method.name for method in METHODS if fits(method))


NOTIFICATIONS: Final = _select(lambda method: method.is_notification)
REQUESTS: Final = _select(lambda method: not method.is_notification)
ONLY_LEGACY: Final = REQUESTS & _select(lambda method: method.eras is Eras.LEGACY)
ONLY_MODERN: Final = REQUESTS & _select(lambda method: method.eras is Eras.MODERN)
HARMLESS: Final = _select(lambda method: method.is_harmless)
CACHEABLE: Final = _select(lambda method: method.is_cacheable)
INTERACTIVE: Final = _select(lambda method: method.is_interactive)
FOR_SESSION: Final = _select(lambda method: method.is_for_session)
# Any of these answers may say how a task ended, and some servers say more than they must.
TASK_REQUESTS: Final = REQUESTS & _select(lambda method: method.is_of_task)
TASK_NOTIFICATIONS: Final = NOTIFICATIONS & _select(lambda method: method.is_of_task)
MODERN_TASK_REQUESTS: Final = TASK_REQUESTS - ONLY_LEGACY
# What a process that several sessions share cannot keep apart.
NEEDS_OWN_PROCESS: Final = FOR_SESSION | TASK_REQUESTS
# What a server asks of its client, by what the client must have declared.
CAPABILITY_ASKED: Final = {method.name: method.capability for method in METHODS if method.capability}
# Where Mcp-Name finds its value in the body. The tasks extension wants it too, but refuses nobody who leaves it out.
ABOUT: Final = {method.name: method.about for method in METHODS if method.about}
MUST_NAME: Final = {name: about for name, about in ABOUT.items() if name not in TASK_REQUESTS}
LIST_KINDS: Final = {
    method.name: ListKind(method.name, *method.items, is_named=method.items[1] == "name")
    for method in METHODS
    if method.items is not None
}
# What a client may listen for: the capability that offers it, and the notification that it is.
LIST_CHANGES: Final = {
    f"{capability}ListChanged": (capability, f"notifications/{capability}/list_changed")
    for capability in ("tools", "prompts", "resources")
}
_PURPOSES: Final = {method.name: method.purpose for method in METHODS}


def purpose_of(method: str | None) -> Purpose:
    """Of a client's message, by its method; an answer has none."""
    return _PURPOSES.get(method or "", Purpose.REQUEST)


# Four times the longest of the protocol. To compare two spellings takes time that grows with the square of the length.
_LONGEST: Final = 256


def _bare(method: str) -> str:
    """Letters and digits alone: routers differ on slashes, dots and what cannot be seen."""
    return "".join(filter(str.isalnum, normalize("NFKC", method).casefold()))


_BARE: Final = frozenset(_bare(method.name) for method in METHODS)
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
