"""Whose a name or a URI is: what was listed says so, and whoever is not known yet is asked once."""

import asyncio
import difflib
from typing import Final

from handfast.gateway.backend import Origin
from handfast.gateway.combined.endpoint import Endpoint, Refused
from handfast.gateway.combined.lists import KINDS, ListKind, Lists
from handfast.gateway.combined.names import is_short_form, public_server, split_name
from handfast.wire.codes import INVALID_PARAMS
from handfast.wire.message import Message

_REST_SECONDS: Final = 30.0  # a server that would not list is not asked again for every call
_MOST_COMPARED: Final = 300
_MOST_SHOWN: Final = 20


class Resolver:
    def __init__(self, endpoint: Endpoint, lists: Lists) -> None:
        self._endpoint = endpoint
        self._lists = lists

    async def name(self, kind: ListKind, public: str, message: Message, origin: Origin) -> tuple[str, str]:
        """The server, and what it calls the tool or prompt itself. Raises: Refused."""
        server, part = self._server_of(kind, public, origin)
        known = self._endpoint.known(origin)
        own = known.own(kind.key, server, public)
        if own is not None:
            return server, own
        is_answered = await self._ask(kind, server, message, origin)
        own = known.own(kind.key, server, public)
        if own is not None:
            return server, own
        if is_answered or is_short_form(part):
            raise Refused(INVALID_PARAMS, self._no_such(kind, public, origin))
        return server, part  # its list is not to be had, so the server itself decides

    async def uri(self, uri: str, message: Message, origin: Origin) -> str:
        """The server that listed, templated or linked it. Raises: Refused."""
        owner = self.known_owner(uri, origin)
        if owner is None:
            await self.ask_for_uris(message, origin)
            owner = self.known_owner(uri, origin)
        if owner is None:
            reason = "No server has listed, templated or linked this URI. Take one from resources/list."
            raise Refused(INVALID_PARAMS, reason, data={"uri": uri})  # as the protocol has servers say which
        return owner

    async def template(self, text: str, message: Message, origin: Origin) -> str:
        """The server that listed the template; a plain URI may stand for itself. Raises: Refused."""
        known = self._endpoint.known(origin)
        owner = known.template_owner(text, list(self._endpoint.servers()))
        if owner is None:
            await self.ask_for_uris(message, origin)
            owner = known.template_owner(text, list(self._endpoint.servers()))
        return owner or await self.uri(text, message, origin)

    def known_owner(self, uri: str, origin: Origin) -> str | None:
        return self._endpoint.known(origin).owner(uri, list(self._endpoint.servers()))

    async def ask_for_uris(self, message: Message, origin: Origin, *, server: str | None = None) -> None:
        """Learn what resources and templates there are: of one server, or of all."""
        servers = self._endpoint.servers()
        asked = servers if server is None else {name: servers[name] for name in servers if name == server}
        kinds = (KINDS["resources/list"], KINDS["resources/templates/list"])
        await asyncio.gather(*(self._lists.refresh(kind, asked, message, origin) for kind in kinds))

    def _server_of(self, kind: ListKind, public: str, origin: Origin) -> tuple[str, str]:
        parts = split_name(public)
        servers = self._endpoint.servers()
        if parts is not None:
            prefix, rest = parts
            if prefix in servers and public_server(prefix) == prefix:
                return prefix, rest
            for server in servers:
                if public_server(server) == prefix:
                    return server, rest
        raise Refused(INVALID_PARAMS, self._no_such(kind, public, origin))

    async def _ask(self, kind: ListKind, server: str, message: Message, origin: Origin) -> bool:
        known, now = self._endpoint.known(origin), self._endpoint.now()
        key = (kind.key, server)
        if now < known.not_before.get(key, 0.0):
            return False
        servers = self._endpoint.servers()
        is_answered = await self._lists.refresh(kind, {server: servers[server]}, message, origin)
        known.not_before[key] = 0.0 if is_answered else self._endpoint.now() + _REST_SECONDS
        return is_answered

    def _no_such(self, kind: ListKind, public: str, origin: Origin) -> str:
        what = kind.key.removesuffix("s")
        servers = list(self._endpoint.servers())
        parts = split_name(public)
        near = [name for name in servers if parts is not None and public_server(name) == parts[0]]
        shown = self._endpoint.known(origin).shown(kind.key, near or servers)[:_MOST_COMPARED]
        # Of names of one server only what comes after it tells them apart. All are short, so this takes little time.
        skip = len(parts[0]) if near and parts is not None else 0
        by_rest = {name[skip:]: name for name in shown}
        close = [by_rest[rest] for rest in difflib.get_close_matches(public[skip : skip + 128], by_rest, cutoff=0.7)]
        if close:
            return f"There is no {what} of this name. Did you mean {' or '.join(close)}? {kind.method} shows all."
        known = ", ".join(servers[:_MOST_SHOWN]) or "none"
        return f"There is no {what} of this name. Names are server__{what}; servers: {known}. {kind.method} shows all."
