"""The thirteen clients: what each is, which driver speaks for it, and which ways to a server it knows."""

from collections.abc import Sequence
from dataclasses import dataclass

SERVERS = ("everything", "contacts")


@dataclass(frozen=True, slots=True)
class Client:
    """One client. A bridge is client and server at once: the official client drives it from the other side."""

    title: str
    package: str
    name: str  # of its environment and its lock
    driver: str  # the file below drivers/
    is_npm: bool = False
    speaks_http: bool = True  # Streamable HTTP; without it only `wrap` is left
    starts_commands: bool = True  # without it `wrap` is no way
    servers: Sequence[str] = SERVERS  # those that know its revisions
    mode: str = "auto"  # how the official client begins, at a bridge
    to_stdio: Sequence[str] = ()  # a bridge: the command that goes to {url} and is a server over stdio
    to_http: Sequence[str] = ()  # a bridge: the command that starts {command} and is a server over HTTP at {port}

    @property
    def is_bridge(self) -> bool:
        return bool(self.to_stdio)


_MCP_PROXY = "{folder}/bin/mcp-proxy"
_MCP_REMOTE = ("{node}", "{folder}/node_modules/mcp-remote/dist/proxy.js")
_SUPERGATEWAY = ("{node}", "{folder}/node_modules/supergateway/dist/index.js", "--logLevel", "none")
CLIENTS: Sequence[Client] = (
    Client("fastmcp 4", "fastmcp", "fastmcp4", "fastmcp_client"),
    Client("fastmcp 2.14", "fastmcp", "fastmcp2", "fastmcp_client"),
    Client("mcp-use", "mcp-use", "mcp_use", "mcp_use_client"),
    Client("langchain-mcp-adapters", "langchain-mcp-adapters", "langchain", "langchain_client"),
    Client("openai-agents", "openai-agents", "openai_agents", "openai_agents_client"),
    Client("pydantic-ai", "pydantic-ai-slim", "pydantic_ai", "pydantic_ai_client"),
    Client("llama-index-tools-mcp", "llama-index-tools-mcp", "llama_index", "llama_index_client"),
    Client("agno", "agno", "agno", "agno_client"),
    Client("strands-agents", "strands-agents", "strands", "strands_client"),
    Client(
        "mcp-proxy",
        "mcp-proxy",
        "mcp_proxy",
        "official_client",
        to_stdio=(_MCP_PROXY, "--transport", "streamablehttp", "{url}"),
        to_http=(_MCP_PROXY, "--port", "{port}", "--pass-environment", "--", "{command}"),
    ),
    Client(
        "mcp-remote",
        "mcp-remote",
        "mcp_remote",
        "official_client",
        is_npm=True,
        starts_commands=False,
        to_stdio=(*_MCP_REMOTE, "{url}", "--transport", "http-only"),
    ),
    Client(
        "supergateway",
        "supergateway",
        "supergateway",
        "official_client",
        is_npm=True,
        mode="legacy",  # what begins otherwise it opens a session for by itself, and then the client opens one more
        to_stdio=(*_SUPERGATEWAY, "--streamableHttp", "{url}"),
        to_http=(
            *_SUPERGATEWAY,
            "--outputTransport",
            "streamableHttp",
            "--stateful",
            "--port",
            "{port}",
            "--stdio",
            "{line}",
        ),
    ),
    # The demo speaks no revision before 2025-06-18.
    Client("mcp 1.2", "mcp", "mcp12", "mcp12_client", speaks_http=False, servers=("everything",)),
)
