"""One table of the protocol's methods with their properties, and the sets of methods derived from it."""

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
    """What a message to a server is for: each purpose has its own connections. IntEnum, because that hashes faster."""

    CALL = auto()  # a call, or the list of tools that calls are judged by
    REQUEST = auto()  # any other request of a client
    NOTICE = auto()  # handfast's own message to the server; no client waits for it
    LISTENING = auto()  # a stream that may never end


@dataclass(frozen=True, slots=True)
class ListKind:
    """One of the lists that a server offers page by page."""

    method: str
    key: str  # where the items stand in the result
    identity: str  # the member that identifies an item
    capability: str
    is_named: bool  # whether items have a name, which the combined endpoint makes unique


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    name: str
    eras: Eras = Eras.BOTH
    purpose: Purpose = Purpose.REQUEST
    about: str = ""
    """The member of params that names the target; 2026-07-28 repeats it in the header Mcp-Name."""
    items: tuple[str, str, str] | None = None
    """For a list: the member with the items, the member that identifies an item, and the capability."""
    is_harmless: bool = False
    """The request changes nothing, so it may be sent a second time."""
    is_cacheable: bool = False
    """A modern answer to it says how long the answer may be cached."""
    is_interactive: bool = False
    """Its answer may be a request for input from the client."""
    is_of_task: bool = False
    is_for_session: bool = False
    """It sets state of the session; in a process shared by several sessions that state would apply to all of them."""
    capability: str = ""
    """For a server's request to its client: the capability that the client must have declared."""

    @property
    def is_notification(self) -> bool:
        return self.name.startswith(_PREFIX)


_PREFIX: Final = "notifications/"
# The methods of all revisions. Other methods pass unless they could be mistaken for one of these.
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
# Answers to any of these may hold a task's end: some servers send more than they must.
TASK_REQUESTS: Final = REQUESTS & _select(lambda method: method.is_of_task)
TASK_NOTIFICATIONS: Final = NOTIFICATIONS & _select(lambda method: method.is_of_task)
MODERN_TASK_REQUESTS: Final = TASK_REQUESTS - ONLY_LEGACY
# Methods whose effects a process shared by several sessions cannot keep apart.
NEEDS_OWN_PROCESS: Final = FOR_SESSION | TASK_REQUESTS
# Requests of a server to its client, with the capability that the client must have declared.
CAPABILITY_ASKED: Final = {method.name: method.capability for method in METHODS if method.capability}
# The member of params that Mcp-Name repeats. The tasks extension asks for the header too, but does not require it.
ABOUT: Final = {method.name: method.about for method in METHODS if method.about}
MUST_NAME: Final = {name: about for name, about in ABOUT.items() if name not in TASK_REQUESTS}
LIST_KINDS: Final = {
    method.name: ListKind(method.name, *method.items, is_named=method.items[1] == "name")
    for method in METHODS
    if method.items is not None
}
# Changes that a client may listen for, each with its capability and its notification.
LIST_CHANGES: Final = {
    f"{capability}ListChanged": (capability, f"notifications/{capability}/list_changed")
    for capability in ("tools", "prompts", "resources")
}
_PURPOSES: Final = {method.name: method.purpose for method in METHODS}


def purpose_of(method: str | None) -> Purpose:
    """The purpose of a client's message by its method; an answer, which has none, counts as a request."""
    return _PURPOSES.get(method or "", Purpose.REQUEST)


# Four times the longest method of the protocol. Normalizing takes time that grows with the square of the length.
_LONGEST: Final = 256


def _bare(method: str) -> str:
    """The method's letters and digits alone: routers differ on slashes, dots and invisible characters."""
    return "".join(filter(str.isalnum, normalize("NFKC", method).casefold()))


_BARE: Final = frozenset(_bare(method.name) for method in METHODS)
_BARE_PREFIX: Final = _bare(_PREFIX)


def find_method_fault(method: str, *, has_id: bool) -> str | None:
    """The reason to refuse a message with this method, or None.

    A server that dispatches by method alone would run a call without an id, and one that is lax about names would run a
    call that handfast did not recognize as a call.
    """
    if method in REQUESTS if has_id else method in NOTIFICATIONS:
        return None  # the usual case
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
