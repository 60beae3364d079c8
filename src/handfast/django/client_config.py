"""Configuration snippets with which a client reaches the MCP endpoint of a project."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit, urlunsplit

Client: TypeAlias = Literal["claude", "cursor", "vscode", "generic", "stdio"]
CLIENTS: Final[tuple[str, ...]] = get_args(Client)
VARIABLE: Final = "HANDFAST_TOKEN"

_INPUT: Final = "handfast-token"
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
_RUNSERVER: Final = 8000
# Each client has its own place to read the variable from, and its own way to write it.
_SECRETS: Final[dict[str, str]] = {
    "claude": f"${{{VARIABLE}}}",
    "cursor": f"${{env:{VARIABLE}}}",
    "vscode": f"${{input:{_INPUT}}}",
    "generic": f"${{{VARIABLE}}}",
    "stdio": "PASTE-THE-TOKEN-HERE",
}
_NOTES: Final[dict[str, str]] = {
    "claude": f"Put it into .mcp.json at the root of your project, and the agent's token into {VARIABLE}.",
    "cursor": f"Put it into .cursor/mcp.json, and the agent's token into {VARIABLE}.",
    "vscode": "Put it into .vscode/mcp.json. The editor asks for the agent's token when the server starts.",
    "generic": f"Put it where your client keeps its servers, and the agent's token in the place of ${{{VARIABLE}}}.",
    "stdio": "For clients that can only start commands: put it where yours keeps its servers, with the agent's token in"
    " it. Which header that goes into is said by what `manage.py handfast client-config` prints without --client: put"
    " that into the file that `handfast config path` names.",
}


class AddressUnknown(ValueError):
    """The settings name no usable address; the text says which option to give."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the settings of a project say about its own address."""

    hosts: Sequence[str]
    is_debug: bool = False
    is_tls: bool = False


def address(path: str, site: Site, url: str | None = None) -> str:
    """The whole address of the endpoint: at `url` where it is given, or at the first host that the settings name.

    Raises: AddressUnknown.
    """
    if url is not None:
        return _at(url, path)
    named = [host.removeprefix(".") for host in site.hosts if "*" not in host]
    if not named and not site.is_debug:
        raise AddressUnknown("ALLOWED_HOSTS names no host to go to. Say it: --url https://example.com")
    host = named[0] if named else _LOCAL[1]
    if host in _LOCAL:
        return f"http://{host}:{_RUNSERVER}{path}"
    scheme = "https" if site.is_tls or not site.is_debug else "http"
    return f"{scheme}://{host}{path}"


def _at(url: str, path: str) -> str:
    """Adds the endpoint's path to a site such as `https://example.com`; a url with a path is the endpoint itself."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise AddressUnknown("--url is not an address. Write it whole, such as https://example.com")
    own = parts.path if parts.path.strip("/") else path
    return urlunsplit((parts.scheme, parts.netloc, own, parts.query, ""))


def snippet(client: str, name: str, url: str, token: str | None = None) -> dict[str, Any]:
    """The content of the client's own file, with a placeholder for the token where none is given. Any: JSON."""
    secret = _SECRETS[client] if token is None else token
    headers = {"Authorization": f"Bearer {secret}"}
    if client == "stdio":
        arguments = ["wrap", "--name", name, "--url", url]
        return {"mcpServers": {name: {"command": "handfast", "args": arguments, "env": {VARIABLE: secret}}}}
    if client == "vscode":
        asked = {"type": "promptString", "id": _INPUT, "description": f"Token for {name}", "password": True}
        servers = {name: {"type": "http", "url": url, "headers": headers}}
        return {"inputs": [asked], "servers": servers} if token is None else {"servers": servers}
    if client == "cursor":
        return {"mcpServers": {name: {"url": url, "headers": headers}}}
    return {"mcpServers": {name: {"type": "http", "url": url, "headers": headers}}}


def note(client: str) -> str:
    return _NOTES[client]
