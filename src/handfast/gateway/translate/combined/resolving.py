"""Which server a name or a URI belongs to: by what was listed, after asking for lists not known yet."""

import asyncio
import difflib
from collections.abc import Iterable
from typing import Final

from handfast.core.call import rules
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint, RequestRefused
from handfast.gateway.translate.combined.lists import Lists
from handfast.gateway.translate.combined.names import is_short_form, public_server, split_name
from handfast.gateway.translate.combined.ownership import By, UriOwner, explain_no_owner, find_owner
from handfast.wire.codes import INVALID_PARAMS
from handfast.wire.message import Message
from handfast.wire.methods import LIST_KINDS, ListKind

_REST_SECONDS: Final = 30.0  # a server that would not list is not asked again for every call
# Lists come before links and templates, so they must be known, and at most this old, before one of these decides.
_LISTED_SECONDS: Final = 60.0
_URI_KINDS: Final = (LIST_KINDS["resources/list"], LIST_KINDS["resources/templates/list"])
_MOST_COMPARED: Final = 300
_MOST_SHOWN: Final = 20


class Resolver:
    def __init__(self, endpoint: CombinedEndpoint, lists: Lists) -> None:
        self._endpoint = endpoint
        self._lists = lists

    async def name(self, kind: ListKind, public: str, message: Message, origin: Requester) -> tuple[str, str]:
        """The server, and its own name for the tool or prompt. Raises: RequestRefused."""
        server, part = self._server_of(kind, public, origin)
        known = self._endpoint.known(origin)
        own = known.own(kind.key, server, public)
        if own is not None:
            return server, own
        if known.is_cut(kind.key, server) and not is_short_form(part):
            return server, part  # it lists more than is kept, so the server itself decides
        is_answered = await self._ask(kind, server, message, origin)
        own = known.own(kind.key, server, public)
        if own is not None:
            return server, own
        if is_short_form(part) or (is_answered and not known.is_cut(kind.key, server)):
            raise RequestRefused(INVALID_PARAMS, self._no_such(kind, public, origin))
        return server, part  # its list is unavailable, so the server itself decides

    async def uri(self, uri: str, message: Message, origin: Requester) -> str:
        """The server that listed it, else linked it, else templated it. Raises: RequestRefused."""
        await self.learn_uris([uri], message, origin)
        owner = self.owner(uri, origin)
        if owner is None:
            reason = explain_no_owner(
                self._endpoint.known(origin).claims(uri, list(self._endpoint.servers(origin.caller)))
            )
            data = {"uri": uri}  # the protocol asks servers to name the URI
            raise RequestRefused(INVALID_PARAMS, reason, rule=rules.COMBINED_UNROUTED, data=data)
        self.note_owner(uri, owner, message, origin)
        return owner.server

    async def template(self, text: str, message: Message, origin: Requester) -> str:
        """The server that listed the template; a plain URI may stand for itself. Raises: RequestRefused."""
        known, servers = self._endpoint.known(origin), list(self._endpoint.servers(origin.caller))
        owners = known.template_owners(text, servers)
        if not owners:
            await self._ask_for_uris(servers, message, origin)
            owners = known.template_owners(text, servers)
        for other in owners[1:]:
            self._lists.note_same_uri(owners[0], other)
        return owners[0] if owners else await self.uri(text, message, origin)

    def owner(self, uri: str, origin: Requester) -> UriOwner | None:
        """The owner of a URI by what is known now."""
        return find_owner(self._endpoint.known(origin).claims(uri, list(self._endpoint.servers(origin.caller))))

    def note_owner(self, uri: str, owner: UriOwner, message: Message, origin: Requester) -> None:
        """Records that a URI goes to a server by a template alone, or that another server claims it too."""
        if owner.by is By.TEMPLATE:
            self._endpoint.record_templated(message, origin.caller, owner.server, uri)
        for other in owner.others if owner.by is By.LIST else ():
            self._lists.note_same_uri(owner.server, other)
        if owner.by is By.LINK and owner.others:
            reason = f"It linked a URI that {', '.join(owner.others)} linked or templated; it is read from the linker."
            self._endpoint.diagnose(owner.server, rules.COMBINED_CONTESTED_LINK, reason)

    async def learn_uris(self, uris: Iterable[str], message: Message, origin: Requester) -> None:
        """Asks for lists that may show the owners: all where one is unknown, else those not seen lately."""
        owners = [self.owner(uri, origin) for uri in uris]
        if all(owner is not None and owner.by is By.LIST for owner in owners):
            return
        servers = list(self._endpoint.servers(origin.caller))
        if all(owners):
            asked, past = self._endpoint.known(origin).asked, self._endpoint.now() - _LISTED_SECONDS
            servers = [
                name for name in servers if any(asked.get((kind.key, name), past) <= past for kind in _URI_KINDS)
            ]
        await self._ask_for_uris(servers, message, origin)

    async def learn_uris_of(self, server: str, message: Message, origin: Requester) -> None:
        await self._ask_for_uris([server], message, origin)

    async def _ask_for_uris(self, names: Iterable[str], message: Message, origin: Requester) -> None:
        servers = self._endpoint.servers(origin.caller)
        asked = {name: servers[name] for name in names if name in servers}
        if asked:
            await asyncio.gather(*(self._lists.refresh(kind, asked, message, origin) for kind in _URI_KINDS))

    def _server_of(self, kind: ListKind, public: str, origin: Requester) -> tuple[str, str]:
        parts = split_name(public)
        servers = self._endpoint.servers(origin.caller)
        if parts is not None:
            prefix, rest = parts
            if prefix in servers and public_server(prefix) == prefix:
                return prefix, rest
            for server in servers:
                if public_server(server) == prefix:
                    return server, rest
        raise RequestRefused(INVALID_PARAMS, self._no_such(kind, public, origin))

    async def _ask(self, kind: ListKind, server: str, message: Message, origin: Requester) -> bool:
        known, now = self._endpoint.known(origin), self._endpoint.now()
        key = (kind.key, server)
        if now < known.not_before.get(key, 0.0):
            return False
        servers = self._endpoint.servers(origin.caller)
        is_answered = await self._lists.refresh(kind, {server: servers[server]}, message, origin)
        known.not_before[key] = 0.0 if is_answered else self._endpoint.now() + _REST_SECONDS
        return is_answered

    def _no_such(self, kind: ListKind, public: str, origin: Requester) -> str:
        what = kind.key.removesuffix("s")
        servers = list(self._endpoint.servers(origin.caller))
        parts = split_name(public)
        near = [name for name in servers if parts is not None and public_server(name) == parts[0]]
        shown = self._endpoint.known(origin).shown(kind.key, near or servers)[:_MOST_COMPARED]
        # Names of one server differ only after its prefix. All are short, so this takes little time.
        skip = len(parts[0]) if near and parts is not None else 0
        by_rest = {name[skip:]: name for name in shown}
        close = [by_rest[rest] for rest in difflib.get_close_matches(public[skip : skip + 128], by_rest, cutoff=0.7)]
        if close:
            return f"There is no {what} of this name. Did you mean {' or '.join(close)}? {kind.method} shows all."
        known = ", ".join(servers[:_MOST_SHOWN]) or "none"
        return f"There is no {what} of this name. Names are server__{what}; servers: {known}. {kind.method} shows all."
