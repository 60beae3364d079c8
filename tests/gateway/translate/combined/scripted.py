"""Servers by script behind the combined endpoint: Backends that do what real ones only do in trouble."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from handfast.core.call.caller import Caller
from handfast.gateway.callers.opaque import Seal
from handfast.gateway.translate.backend import Backend, Requester
from handfast.gateway.translate.combined.backend import CombinedBackend
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint
from handfast.wire.codes import METHOD_NOT_FOUND, UPSTREAM_FAILED
from handfast.wire.eras import MODERN_META
from handfast.wire.message import Message, read_message
from handfast.wire.replies import answer, error_message, error_reply, notification

Json = dict[str, Any]  # Any: JSON
SEAL: Final = Seal(b"of the state folder")
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
KEYS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


@dataclass
class Scripted:
    """`lists` has the pages of each list, raw; a page's number is the cursor of the page before it."""

    lists: dict[str, list[bytes]] = field(default_factory=dict)
    capabilities: Json = field(default_factory=lambda: {"tools": {}, "prompts": {}, "resources": {}})
    answers: dict[str, Callable[[Message], bytes]] = field(default_factory=dict)
    discovery: Json = field(default_factory=dict)
    cache: Json = field(default_factory=lambda: {"ttlMs": 60_000, "cacheScope": "public"})
    is_down: bool = False
    silent: set[str] = field(default_factory=set)  # methods that never answer
    asked: list[Message] = field(default_factory=list)
    origins: list[Requester] = field(default_factory=list)
    listens: list[Requester] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    ends: asyncio.Event = field(default_factory=asyncio.Event)  # set: every listen comes to its end

    async def request(self, message: Message, origin: Requester) -> Message:
        method = message.method or ""
        self.asked.append(message)
        self.origins.append(origin)
        if self.is_down:
            return error_message(message.id, UPSTREAM_FAILED, "It does not start. Try again in 5 seconds.")
        try:
            if method in self.silent:
                await asyncio.Event().wait()
            return read_message(await self._answer(method, message, origin))
        except asyncio.CancelledError:
            self.cancelled.append(method)
            raise

    async def _answer(self, method: str, message: Message, origin: Requester) -> bytes:
        if method in self.answers:
            return self.answers[method](message)
        if method == "server/discover":
            found = {"supportedVersions": ["2026-07-28"], "capabilities": self.capabilities, **self.cache}
            return answer(message.id, {**found, **self.discovery})
        if method == "subscriptions/listen":
            return await self._listen(message, origin)
        if method in KEYS:
            return self._page(method, message)
        return error_reply(message.id, METHOD_NOT_FOUND, "No such method.")

    def _page(self, method: str, message: Message) -> bytes:
        cursor = params_of(message).get("cursor")
        number = 0 if cursor is None else int(cursor or "1")
        pages = self.lists.get(method, [b"[]"])
        # The empty text is the cursor of the second page: it is as good as any.
        following = (
            b"" if number + 1 >= len(pages) else b',"nextCursor": "%s"' % (b"%d" % (number + 1) if number else b"")
        )
        rest = json.dumps({"x": 0, **self.cache})[1:].encode()
        head = b'{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",' % json.dumps(message.id).encode()
        return head + b'"%s":%s%s,' % (KEYS[method].encode(), pages[number], following) + rest + b"}"

    async def _listen(self, message: Message, origin: Requester) -> bytes:
        meta = {SUBSCRIPTION: message.id}
        wanted = params_of(message)["notifications"]
        origin.send(notification("notifications/subscriptions/acknowledged", {"notifications": wanted, "_meta": meta}))
        self.listens.append(origin)
        await self.ends.wait()
        return answer(message.id, {"resultType": "complete", "_meta": meta})

    def methods(self) -> list[str]:
        return [message.method or "" for message in self.asked]


def params_of(message: Message) -> Json:
    return json.loads(message.raw).get("params", {})  # type: ignore[no-any-return]  # JSON


def items(*names: str, key: str = "name") -> bytes:
    return json.dumps([{key: name, "title": "T"} for name in names]).encode()


@dataclass
class Rig:
    """A combined endpoint over these servers, and a client of it."""

    servers: dict[str, Backend]
    seconds: float = 5.0
    diagnosed: list[tuple[str, str, str]] = field(default_factory=list)
    templated: list[tuple[str, str]] = field(default_factory=list)  # servers that got a URI by a template, and the URI
    refused: list[str] = field(default_factory=list)  # the rules of what was refused and recorded
    sent: list[Json] = field(default_factory=list)
    raw_sent: list[bytes] = field(default_factory=list)
    now: float = 1000.0
    starting: dict[str, float] = field(default_factory=dict)  # how long servers have been starting
    kept: dict[tuple[str, str], bytes] = field(default_factory=dict)  # what they listed the last time

    def starting_for(self, server: str) -> float | None:
        return self.starting.get(server)

    def remembered(self, server: str, what: str) -> bytes | None:
        return self.kept.get((server, what))

    def remember(self, server: str, what: str, found: bytes) -> None:
        self.kept[server, what] = found

    def __post_init__(self) -> None:
        self.combined = CombinedBackend(
            CombinedEndpoint(
                every_server=lambda: self.servers,
                seconds=lambda: self.seconds,
                now=lambda: self.now,
                diagnose=lambda *what: self.diagnosed.append(what),
                first_wait=0.001,
                seal=SEAL,
                starts=self,
                record_refused=self._record_refused,
                record_templated=lambda _message, _actor, server, uri: self.templated.append((server, uri)),
            )
        )

    async def _record_refused(self, _message: Message, _origin: Requester, rule: str, _reason: str) -> None:
        self.refused.append(rule)

    def origin(self, caller: str = "ada", *, actor: str = "", **more: Any) -> Requester:  # Any: Requester's own fields
        def send(raw: bytes) -> None:
            self.raw_sent.append(raw)
            self.sent.append(json.loads(raw))

        return Requester(Caller(actor=actor, session=caller), send, **more)

    async def ask_raw(self, raw: bytes, *, caller: str = "ada", backend: Backend | None = None) -> bytes:
        return (await (backend or self.combined).request(read_message(raw), self.origin(caller))).raw

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        caller: str = "ada",
        backend: Backend | None = None,
    ) -> Json:  # Any: JSON
        raw = request_of(method, params)
        return json.loads(await self.ask_raw(raw, caller=caller, backend=backend))  # type: ignore[no-any-return]  # JSON

    async def names(self, method: str = "tools/list", **params: Any) -> list[str]:  # Any: JSON
        result = (await self.ask(method, params))["result"]
        return [next(iter(item.values())) for item in result[KEYS[method]]]


def request_of(method: str, params: Mapping[str, Any] | None = None, *, id: str | int = 7) -> bytes:  # noqa: A002
    whole = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": dict(MODERN_META)}}
    return json.dumps(whole).encode()


async def until(condition: Callable[[], object]) -> None:
    """Let the loop go on until the condition holds; the test's own time limit ends it otherwise."""
    while not condition():  # noqa: ASYNC110 - conditions of many kinds, none of which could set an event
        await asyncio.sleep(0)
