"""Settings: one frozen object, read once from file, environment and flags; wrong settings are refused whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from handfast.access.trusted import ALGORITHMS
from handfast.core.call.policy import InputPolicy, OutputPolicy, ToolPolicy, resolve
from handfast.gateway.settings.blocks import Activity, Auth, AuthMode, Limits, Listening, Start, Tls
from handfast.gateway.settings.check import check_block, take_value
from handfast.gateway.settings.document import read_document
from handfast.gateway.settings.environment import environment_values, flag_values
from handfast.gateway.settings.keys import BLOCKS, GLOBAL_KEYS, TOP_KEYS
from handfast.gateway.settings.problems import Findings, Rank, SettingsError, nearest
from handfast.gateway.settings.server import ServerSettings, Transport
from handfast.gateway.settings.servers import SERVER_BLOCKS, read_servers

__all__ = [
    "Origin",
    "ServerSettings",
    "Settings",
    "SettingsError",
    "TracedSettings",
    "Transport",
    "find_settings_file",
    "load_settings",
    "open_to_all",
    "trace_settings",
]

FILE_NAME = "handfast.json"
_DEFAULT_LISTENING = Listening()
_NOTHING: Mapping[str, object] = MappingProxyType({})


class Origin(StrEnum):
    """Where a global value came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of the gateway. Never changed in place: a changed file makes a new one."""

    servers: Mapping[str, ServerSettings] = field(default_factory=lambda: MappingProxyType({}))
    input_validation: InputPolicy = field(default_factory=InputPolicy)
    output_validation: OutputPolicy = field(default_factory=OutputPolicy)
    auth: Auth = field(default_factory=Auth)
    tls: Tls = field(default_factory=Tls)
    activity: Activity = field(default_factory=Activity)
    limits: Limits = field(default_factory=Limits)
    listen: str = _DEFAULT_LISTENING.listen
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    start: Start = _DEFAULT_LISTENING.start
    # Resolved up front for exactly the names in the file: a caller who invents tool names cannot make it grow.
    _policies: Mapping[tuple[str, str], ToolPolicy] = field(init=False, repr=False, compare=False)
    _base: ToolPolicy = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        base = ToolPolicy(self.input_validation, self.output_validation)
        policies = {}
        for name, server in self.servers.items():
            policies[name, ""] = resolve(base, server.overrides)
            for tool, overrides in server.tools.items():
                policies[name, tool] = resolve(base, server.overrides, overrides)
        object.__setattr__(self, "_base", base)
        object.__setattr__(self, "_policies", MappingProxyType(policies))

    def policy(self, server: str, tool: str) -> ToolPolicy:
        """Returns the policy of one tool: its own entry over its server's over the global blocks."""
        own = self._policies.get((server, tool)) or self._policies.get((server, ""))
        return own or self._base

    def starts_eagerly(self, server: str) -> bool:
        """Whether it has a process that is to run before a client asks for it."""
        found = self.servers[server]
        return found.transport is Transport.STDIO and (found.start or self.start) is Start.EAGER

    @property
    def listen_address(self) -> tuple[str, int]:
        """Host and port; an IPv6 address without its brackets."""
        host, port = _host_and_port(self.listen)
        return host, int(port)


@dataclass(frozen=True, slots=True)
class TracedSettings:
    """Settings, and for each global key (dotted) where its value came from."""

    settings: Settings
    origins: Mapping[str, Origin]


def load_settings(
    path: Path | None,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, object] = _NOTHING,
    needs_servers: bool = True,
) -> Settings:
    """The settings in a file (None: no file, defaults and overrides only), all problems reported at once.

    Raises: SettingsError.
    """
    return trace_settings(path, environ=environ, flags=flags, needs_servers=needs_servers).settings


def trace_settings(
    path: Path | None,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, object] = _NOTHING,
    needs_servers: bool = True,
) -> TracedSettings:
    """As `load_settings`, with the origin of every global value. Raises: SettingsError."""
    findings = Findings(str(path) if path else "settings")
    document: Mapping[str, object] = read_document(path) if path else {}
    sources = {
        Origin.FILE: _file_values(document, findings),
        Origin.ENVIRONMENT: environment_values(environ, findings),
        Origin.FLAG: flag_values(flags, findings),
    }
    servers = read_servers(document, environ, findings, needs_servers=needs_servers and path is not None)
    values = {dotted: key.default for dotted, key in GLOBAL_KEYS.items()}
    origins = dict.fromkeys(GLOBAL_KEYS, Origin.DEFAULT)
    for origin, given in sources.items():
        values |= given
        origins |= dict.fromkeys(given, origin)
    _check_together(values, findings)
    findings.require_none()
    return TracedSettings(_build(servers, values), MappingProxyType(origins))


def open_to_all(listen: str) -> str:
    """Says why the gateway does not listen there, and what to do."""
    return (
        f"listen {listen} is open to other machines, and auth.mode is none, so anybody there could call every tool;"
        ' set auth.mode to "token", or listen on 127.0.0.1'
    )


def find_settings_file(chosen: str | None, *, environ: Mapping[str, str], folder: Path | None = None) -> Path:
    """Returns the settings file to use: the chosen one, HANDFAST_CONFIG, the folder's, the user's; it may not exist."""
    named = chosen or environ.get("HANDFAST_CONFIG")
    if named:
        return Path(named)
    beside = (folder or Path()) / FILE_NAME
    if beside.exists():
        return beside
    # Only here: finding the platform's folder costs more than all the rest of this module.
    from platformdirs import user_config_path

    return user_config_path("handfast") / FILE_NAME


def _file_values(document: Mapping[str, object], findings: Findings) -> dict[str, object]:
    """Our own keys of the file, by dotted key; keys of other clients are left alone."""
    values: dict[str, object] = {}
    for name, value in document.items():
        if name in BLOCKS:
            block = check_block(value, BLOCKS[name], (name,), findings)
            values |= {f"{name}.{key}": item for key, item in block.items()}
        elif name in TOP_KEYS:
            take_value(TOP_KEYS[name], value, (name,), findings=findings, into=values)
        elif name == "handfast":
            findings.add((name,), "belongs inside a server; write its blocks at the top level here", rank=Rank.KEY)
        elif name not in SERVER_BLOCKS and (meant := nearest(name, (*BLOCKS, *TOP_KEYS, SERVER_BLOCKS[0]))):
            findings.add((name,), f'is not a setting; did you mean "{meant}"?', rank=Rank.KEY)
    return values


def _host_and_port(listen: str) -> tuple[str, str]:
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), port


def _is_open(host: str) -> bool:
    """Whether other machines reach what listens there; a name is looked up when the socket is bound."""
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return False


def _check_oauth(values: Mapping[str, Any], findings: Findings) -> None:  # Any: values of many types
    if values["auth.public_url"] is None:
        findings.note("auth.mode oauth needs auth.public_url: clients are told it, and tokens are made for it")
    elif urlsplit(values["auth.public_url"]).path not in ("", "/"):
        findings.note("auth.public_url must not have a path; /mcp and /mcp/<server> come after it")
    issuers = values["auth.issuers"]
    if not issuers:
        findings.note("auth.mode oauth needs auth.issuers: at least one, with its name and address")
    for what in ("name", "issuer"):
        if len({getattr(one, what) for one in issuers}) < len(issuers):
            findings.note(f"auth.issuers has two with the same {what}; each needs its own")
    for one in issuers:
        wrong = [algorithm for algorithm in one.algorithms if algorithm not in ALGORITHMS]
        if wrong or not one.algorithms:
            findings.note(f"auth.issuers: algorithms of {one.name} must be some of {', '.join(ALGORITHMS)}")


def _check_together(values: Mapping[str, Any], findings: Findings) -> None:  # Any: values of many types
    if values["auth.mode"] is AuthMode.NONE and _is_open(_host_and_port(values["listen"])[0]):
        findings.note(open_to_all(values["listen"]))
    if (values["tls.certificate"] is None) != (values["tls.key"] is None):
        findings.note("tls needs both certificate and key, or neither of them")
    if values["auth.mode"] is AuthMode.OAUTH:
        _check_oauth(values, findings)
    if values["limits.body_bytes"] > values["limits.message_bytes"]:
        findings.note("limits.body_bytes must not be above limits.message_bytes, which every message is held to")


def _build(servers: Mapping[str, ServerSettings], values: Mapping[str, Any]) -> Settings:  # Any: as above
    def block(name: str) -> dict[str, Any]:  # Any: as above
        return {key: values[f"{name}.{key}"] for key in BLOCKS[name]}

    return Settings(
        servers=servers,
        input_validation=InputPolicy(**block("input_validation")),
        output_validation=OutputPolicy(**block("output_validation")),
        auth=Auth(**block("auth")),
        tls=Tls(**block("tls")),
        activity=Activity(**block("activity")),
        limits=Limits(**block("limits")),
        **{name: values[name] for name in TOP_KEYS},
    )
