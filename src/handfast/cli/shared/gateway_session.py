"""A short session through the gateway, with one server or with the combined endpoint, for `call` and `tools`."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from handfast import __version__
from handfast.cli.shared.console import CommandFailed
from handfast.cli.shared.running import waiting_for
from handfast.gateway.http.client import HttpClient, Response, UpstreamFailed, UrlUnusable
from handfast.wire.eras import LEGACY_REVISION, META_CAPABILITIES, META_CLIENT, META_VERSION, MODERN_REVISION
from handfast.wire.headers import encode_header
from handfast.wire.replies import notification, request
from handfast.wire.sse import SseAssembler, SseEvent

_LIMIT = 64 * 1024 * 1024
_CLIENT = {"name": "handfast-cli", "version": __version__}
_HEADERS = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
_VERSION = re.compile(r"[0-9A-Za-z.-]{1,32}")
_CLOSING_S = 5.0
_OBJECTS = ("result", "error")
_LONGEST_REASON = 400  # our own longest refusals fit, and half a screen does as well
Answer = dict[str, Any]  # Any: decoded JSON


class _Health(msgspec.Struct):
    """The members of a gateway's `/health` that are read here."""

    recording: str
    servers: dict[str, dict[str, Any]] | None = None  # Any: JSON. None: the gateway asks who we are


class GatewaySession:
    """A session with a legacy handshake, or without one where the server refuses that and is modern."""

    def __init__(self, url: str) -> None:
        self._client = HttpClient(url)
        self._ids = count(1)
        self._token = token_header()
        self._headers: list[tuple[bytes, bytes]] = []
        self._meta: Mapping[str, Any] | None = None  # Any: decoded JSON

    async def open(self) -> None:
        """Raises: CommandFailed."""
        opening = {"protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": _CLIENT}
        answer, response = await self._post(request(next(self._ids), "initialize", opening))
        if "result" in answer:
            session = response.header(b"mcp-session-id")
            version = str(answer["result"].get("protocolVersion", ""))
            if not _VERSION.fullmatch(version):
                raise CommandFailed("the answer to initialize names no protocol version; check the server")
            self._headers = [(b"mcp-protocol-version", version.encode())]
            if session is not None:
                self._headers.append((b"mcp-session-id", session))
            await self._post(notification("notifications/initialized"))
            return
        self._meta = {META_VERSION: MODERN_REVISION, META_CAPABILITIES: {}, META_CLIENT: _CLIENT}
        self._headers = [(b"mcp-protocol-version", MODERN_REVISION.encode())]
        discovered = await self.ask("server/discover", {})
        if "result" not in discovered:
            raise CommandFailed(reason_of(answer))

    async def ask(self, method: str, params: dict[str, Any]) -> Answer:  # Any: JSON
        """The server's answer, decoded. Raises: CommandFailed."""
        headers = list(self._headers)
        if self._meta is not None:
            params = {**params, "_meta": self._meta}
            headers.append((b"mcp-method", method.encode()))
            if "name" in params:
                headers.append((b"mcp-name", encode_header(str(params["name"]))))
        answer, _ = await self._post(request(next(self._ids), method, params), headers)
        return answer

    async def close(self) -> None:
        if any(name == b"mcp-session-id" for name, _ in self._headers):
            with contextlib.suppress(UpstreamFailed, TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    headers = [*self._token, *self._headers]
                    await (await self._client.request("DELETE", headers, response_timeout=None)).read(_LIMIT)
        await self._client.close()

    async def _post(self, body: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> tuple[Answer, Response]:
        try:
            sent = [*_HEADERS, *self._token, *(self._headers if headers is None else headers)]
            response = await self._client.request("POST", sent, body, response_timeout=None)
            return await _read_answer(response), response
        except UpstreamFailed as problem:
            raise CommandFailed(str(problem)) from None


def token_header() -> list[tuple[bytes, bytes]]:
    """The header that says who calls, from HANDFAST_TOKEN. Raises: CommandFailed."""
    token = os.environ.get("HANDFAST_TOKEN", "").strip()
    if not token:
        return []
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise CommandFailed("HANDFAST_TOKEN is no token. Set it to the text that `handfast token create` printed.", 2)
    return [(b"authorization", b"Bearer " + token.encode())]


async def _read_answer(response: Response) -> Answer:
    kind = response.header(b"content-type") or b""
    if kind.startswith(b"text/event-stream"):
        events = SseAssembler(_LIMIT)
        async for chunk in response.chunks():
            for event in events.feed(chunk):
                message = _decoded(event.data) if isinstance(event, SseEvent) and event.data else {}
                if message.keys() & {"result", "error"}:
                    response.abort()
                    return message
        raise CommandFailed("the server closed its answer before it was complete; look at the gateway's output")
    body = await response.read(_LIMIT)
    if not body and response.status < 300:
        return {}
    answer = _decoded(body)
    if not answer.keys() & {"result", "error"}:
        # A gateway answers everything in MCP, so there is none at this address.
        text = f"the answer has HTTP status {response.status} and is not an MCP message; check the address"
        raise CommandFailed(text)
    if response.status in (401, 403, 404) and "error" in answer and answer.get("id") is None:
        raise CommandFailed(reason_of(answer))
    return answer


def _decoded(data: bytes) -> Answer:
    """A message without a result or an error that is not an object; empty if it cannot be read."""
    try:
        message: Answer = msgspec.json.decode(data, type=dict[str, Any])  # Any: JSON
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {key: value for key, value in message.items() if key not in _OBJECTS or isinstance(value, dict)}


def reason_of(answer: Answer, otherwise: str = "the server gave no reason") -> str:
    """What an error says, as one line that a person reads: a peer may send any text."""
    text = " ".join(str(answer.get("error", {}).get("message", otherwise)).split())
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


@contextlib.asynccontextmanager
async def open_session(args: Any, server: str, path: str = "") -> AsyncIterator[GatewaySession]:  # Any: argparse's
    """A session through the running gateway; where none runs, through one that lives as long as this command.

    It is with the server, or with the endpoint at `path`.
    """
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(waiting_for(server))
        base = named_gateway(args) or await running_gateway(args)
        if base is None:
            base = await stack.enter_async_context(_own_gateway(args))
        session = _session(base + (path or f"/mcp/{server}"))
        try:
            await session.open()
            yield session
        finally:
            await session.close()


def _session(url: str) -> GatewaySession:
    try:
        return GatewaySession(url)
    except UrlUnusable as problem:
        raise CommandFailed(str(problem), 2) from None


async def served_names(base: str) -> list[str] | None:
    """The enabled servers behind a gateway; None where no gateway answers. Raises: CommandFailed for a bad address."""
    health = await read_health(base)
    return None if health is None else [name for name, server in health.items() if server.get("state") != "disabled"]


async def read_health(base: str) -> dict[str, Any] | None:  # Any: JSON
    """The state of each server behind a gateway; None where no gateway answers. Raises: CommandFailed."""
    report = await _read_report(base)
    if report is not None and report.servers is None:
        text = f"the gateway at {base} tells its servers only to callers that it knows. Set HANDFAST_TOKEN to a token."
        raise CommandFailed(text)
    return None if report is None else report.servers


async def _read_report(base: str) -> _Health | None:
    """Raises: CommandFailed for a bad address."""
    try:
        client = HttpClient(f"{base.rstrip('/')}/health", connect_timeout=2)
    except UrlUnusable as problem:
        raise CommandFailed(str(problem), 2) from None
    try:
        async with asyncio.timeout(_CLOSING_S):
            response = await client.request("GET", token_header(), response_timeout=None)
            return msgspec.json.decode(await response.read(_LIMIT), type=_Health)
    except (UpstreamFailed, TimeoutError, msgspec.DecodeError, RecursionError):
        return None
    finally:
        await client.close()


def named_gateway(args: Any) -> str | None:  # Any: argparse's namespace
    """The address given by flag or variable; an endpoint's address, as `serve` prints it, is taken too."""
    given: str | None = args.url or os.environ.get("HANDFAST_URL")
    return re.sub(r"(/mcp(/[^/?]*)?)?/*([?].*)?$", "", given) if given else None


def gateway_address(args: Any) -> str:  # Any: argparse's namespace
    """Where a gateway on these settings would listen."""
    from handfast.cli.shared.options import read_settings, settings_path

    path = settings_path(args.config)
    settings = read_settings(path if path.exists() else None, {}, needs_servers=False)
    host, port = settings.listen_address
    scheme = "http" if settings.tls.certificate is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


async def running_gateway(args: Any) -> str | None:  # Any: argparse's namespace
    """The address of the gateway on these settings, if one runs."""
    base = gateway_address(args)
    return base if await _read_report(base) is not None else None


@contextlib.asynccontextmanager
async def _own_gateway(args: Any) -> AsyncIterator[str]:  # Any: argparse's namespace
    from handfast.activity.state_folder import state_folder
    from handfast.activity.store import StoreError
    from handfast.cli.shared.options import read_settings, settings_path
    from handfast.gateway.runtime import Runtime
    from handfast.gateway.serving import address_of, bind, gateway

    path: Path = settings_path(args.config)
    if not path.exists() and not args.config:
        raise CommandFailed(
            "no gateway is running and there is no settings file. Start `handfast serve`, or name one with --config."
        )
    settings = read_settings(path, {"listen": "127.0.0.1:0"})
    listener = bind(settings)
    try:
        runtime = Runtime(settings, state_folder(args.state), actor=os.environ.get("HANDFAST_ACTOR", ""))
    except StoreError as problem:
        raise CommandFailed(str(problem)) from None
    async with gateway(runtime, listener):
        yield address_of(listener)
