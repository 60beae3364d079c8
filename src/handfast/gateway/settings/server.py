"""One server of the settings: how it is started or reached, and what its entry may not say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from handfast.core.call.policy import Overrides
from handfast.gateway.settings.blocks import Bridge, Isolation, Start, Surface
from handfast.gateway.settings.problems import Findings, Rank, Where, nearest
from handfast.gateway.settings.variables import UnsetVariable, expand

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Headers about the body or the connection are ours to set; a client's credentials are for us alone, and so are its
# claims about where it is.
_NEVER_FORWARDED = re.compile(
    r"(content-|proxy-|sec-|x-forwarded-).*"
    r"|accept-encoding|authorization|connection|cookie2?|expect|forwarded|host|keep-alive|origin|referer|te|trailer"
    r"|transfer-encoding|upgrade|via|x-http-method(-override)?|x-method-override|x-original-url|x-real-ip|x-rewrite-url",
    re.IGNORECASE,
)
_WAYS = ("command", "url")
_URLS_ELSEWHERE = {"serverUrl", "httpUrl"}  # reported separately
LAUNCH_KEYS = (*_WAYS, "args", "env", "headers", "cwd", "disabled", "type", "transport")
_NO_OVERRIDES = Overrides(MappingProxyType({}), MappingProxyType({}))


class Transport(StrEnum):
    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"  # the HTTP transport of 2024-11-05


# As clients write it, compared in lower case without dashes and underscores.
_SPELLINGS = {
    "stdio": Transport.STDIO,
    "http": Transport.HTTP,
    "streamablehttp": Transport.HTTP,
    "sse": Transport.SSE,
}


def _nothing() -> Mapping[str, Any]:  # Any: an empty mapping is one of every type
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One upstream server. What may hold a secret never shows in its repr."""

    transport: Transport
    command: str | None = field(default=None, repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    cwd: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=_nothing, repr=False)
    disabled: bool = False
    surface: Surface = Surface.FULL
    isolation: Isolation = Isolation.AUTO
    start: Start | None = None
    bridge: Bridge = Bridge.AUTO
    forward_headers: tuple[str, ...] = ()
    concurrent_calls: int | None = None
    retry_idempotent: bool | None = None
    overrides: Overrides = _NO_OVERRIDES
    tools: Mapping[str, Overrides] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class EntryReader:
    """Reads the keys of one server entry, noting what is wrong with each."""

    entry: Mapping[str, object]
    where: Where
    environ: Mapping[str, str]
    findings: Findings

    def text(self, name: str) -> str | None:
        value = self.entry.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value:
            zed = 'is an object, as Zed writes it; make it the path in it, with "args" and "env" beside it'
            problem = zed if isinstance(value, dict) and "path" in value else "must be a text that is not empty"
            self.findings.add((*self.where, name), problem)
            return None
        return self._expand(name, value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.entry.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.findings.add((*self.where, name), "must be a list of texts; put numbers in quotes")
            return ()
        return tuple(self._expand(name, item, str(index)) for index, item in enumerate(value))

    def named_texts(self, name: str) -> Mapping[str, str]:
        value = self.entry.get(name)
        if value is None:
            return MappingProxyType({})
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            self.findings.add((*self.where, name), "must be an object of texts; put numbers in quotes")
            return MappingProxyType({})
        return MappingProxyType({key: self._expand(name, item, key) for key, item in value.items()})

    def flag(self, name: str) -> bool:
        value = self.entry.get(name, False)
        if not isinstance(value, bool):
            self.findings.add((*self.where, name), "must be true or false")
        return value is True

    def _expand(self, name: str, text: str, *inner: str) -> str:
        try:
            return expand(text, self.environ)
        except UnsetVariable as unset:
            # A server that is switched off needs no token.
            if self.entry.get("disabled") is not True:
                self.findings.add((*self.where, name, *inner), str(unset), rank=Rank.MISSING)
            return text


def read_launch(reader: EntryReader) -> ServerSettings:
    """Reads the part of a server entry that every client writes."""
    server = ServerSettings(
        transport=read_transport(reader),
        command=reader.text("command"),
        args=reader.texts("args"),
        env=reader.named_texts("env"),
        cwd=reader.text("cwd"),
        url=reader.text("url"),
        headers=reader.named_texts("headers"),
        disabled=reader.flag("disabled"),
    )
    _check_safe_to_start(server, reader)
    _check_safe_to_send(server, reader)
    return server


def check_forwarded(names: tuple[str, ...], where: Where, findings: Findings) -> None:
    """Reports headers that a client must not be able to set at a server."""
    for name in names:
        if _NEVER_FORWARDED.fullmatch(name):
            why = "describes the body, the connection or the caller, which a client must not do for a server"
            findings.add((*where, name), f"{why}; remove it")


def read_transport(reader: EntryReader) -> Transport:
    """stdio or http, from `command` or `url`; `type` and `transport` may only agree with that, or say sse for a url."""
    has_command, has_url = (reader.entry.get(name) is not None for name in _WAYS)
    if has_command == has_url and not (_URLS_ELSEWHERE & reader.entry.keys()):
        both = "has both command and url; keep one: command starts a server, url reaches one"
        slip = next((key for key in reader.entry if nearest(key, _WAYS) and key not in LAUNCH_KEYS), None)
        neither = "needs a command (a server to start) or a url (one to reach)"
        hint = f'; did you mean "{nearest(slip, _WAYS)}"?' if slip else ""
        reader.findings.add(reader.where, both if has_command else neither + hint, rank=Rank.MISSING)
    natural = Transport.HTTP if has_url else Transport.STDIO
    said = {_read_spelling(name, reader, natural=natural) for name in ("type", "transport")} - {None}
    if len(said) > 1:
        reader.findings.add((*reader.where, "transport"), "is another than type; keep one of them")
    return Transport.SSE if Transport.SSE in said else natural


def _read_spelling(name: str, reader: EntryReader, *, natural: Transport) -> Transport | None:
    written = reader.entry.get(name)
    if written is None:
        return None
    where = (*reader.where, name)
    found = _SPELLINGS.get(re.sub("[-_]", "", written.lower()) if isinstance(written, str) else "")
    if found is None:
        reader.findings.add(where, "must be one of stdio, http, streamable-http, sse")
    elif (found is Transport.STDIO) != (natural is Transport.STDIO):
        needs = "a url" if natural is Transport.STDIO else "a command"
        reader.findings.add(where, f"needs {needs}, but the server has the other; correct or remove it")
    else:
        return found
    return None


def _check_safe_to_start(server: ServerSettings, reader: EntryReader) -> None:
    for name, path in (("command", server.command), ("cwd", server.cwd)):
        if path is not None and path.startswith("~"):
            problem = "begins with ~, which only a shell would replace; write the whole path, or ${HOME} for ~"
            reader.findings.add((*reader.where, name), problem)
    for name, value in server.env.items():
        if not name or "=" in name or "\0" in name + value:
            reader.findings.add((*reader.where, "env", name), "cannot be an environment variable; rename it")
    for key, texts in (("command", (server.command,)), ("args", server.args), ("cwd", (server.cwd,))):
        if any(text and "\0" in text for text in texts):
            reader.findings.add((*reader.where, key), "holds a NUL character; remove it")


def _check_safe_to_send(server: ServerSettings, reader: EntryReader) -> None:
    for name, value in server.headers.items():
        if not _HEADER_NAME.match(name):
            reader.findings.add((*reader.where, "headers", name), "is not a valid header name")
        # A line break here would let a value add headers of its own.
        if _CONTROL.search(value) or not value.isascii():
            reader.findings.add((*reader.where, "headers", name), "may hold only printable ASCII, no line breaks")
    problem = _url_problem(server.url) if server.url is not None and not server.disabled else None
    if problem:
        reader.findings.add((*reader.where, "url"), problem)


def _url_problem(url: str) -> str | None:
    wanted = "must be an http:// or https:// address such as https://example.com/mcp"
    try:
        parts = urlsplit(url)
        has_port_in_range = parts.port is None or parts.port > 0
    except ValueError:
        return wanted
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port_in_range:
        return wanted
    if not url.isascii() or not url.isprintable() or " " in url:
        return "may hold only printable ASCII without spaces; encode the rest with %"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user or password; send them with headers"
    return "must not have a #fragment; remove it" if parts.fragment else None
