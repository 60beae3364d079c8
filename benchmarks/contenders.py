"""What is compared: each contender's command line, and where its servers are found."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT

PARTS_PYTHON = str(ROOT / ".parts" / "py" / "bin" / "python")
SDK, LEAN = "sdk", "lean"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a contender is to run: its port, a folder of its own, and the upstreams' urls by name."""

    port: int
    folder: Path
    upstreams: dict[str, str]


@dataclass(frozen=True, slots=True)
class Contender:
    key: str
    label: str
    command: Callable[[Site], list[str]]
    path: str = "/mcp"  # of a server called NAME, where it holds {name}
    fronts: tuple[str, ...] = (SDK,)


def upstream_command(name: str, port: int) -> list[str]:
    python = PARTS_PYTHON if name == SDK else sys.executable
    return [python, "-m", f"benchmarks.servers.{name}", "--port", str(port)]


def stdio_command() -> list[str]:
    return [PARTS_PYTHON, "-m", "benchmarks.servers.sdk"]


def wrap_command(state: Path) -> list[str]:
    return [sys.executable, "-m", "handfast.cli.main", "wrap", "--state", str(state), "--", *stdio_command()]


def _options(site: Site, settings: dict[str, object]) -> list[str]:
    config = site.folder / "handfast.json"
    servers = {name: {"url": url} for name, url in site.upstreams.items()}
    config.write_text(json.dumps({"mcpServers": servers} | settings))
    listen = f"127.0.0.1:{site.port}"
    return ["--config", str(config), "--listen", listen, "--state", str(site.folder / "state")]


def _handfast(site: Site) -> list[str]:
    return [sys.executable, "-m", "handfast.cli.main", "serve", *_options(site, {})]


def _handfast_off(site: Site) -> list[str]:
    off: dict[str, object] = {"input_validation": {"mode": "off"}, "output_validation": {"mode": "off"}}
    return [sys.executable, "-m", "handfast.cli.main", "serve", *_options(site, off)]


def _relay_only(site: Site) -> list[str]:
    return [sys.executable, "-m", "benchmarks.servers.relay_only", *_options(site, {})]


def _bytes_relay(site: Site) -> list[str]:
    options = ["--port", str(site.port), "--upstream", site.upstreams[LEAN]]
    return [sys.executable, "-m", "benchmarks.servers.bytes_relay", *options]


def _fastmcp(site: Site) -> list[str]:
    options = ["--port", str(site.port), "--upstream", site.upstreams[SDK]]
    return [PARTS_PYTHON, "-m", "benchmarks.servers.fastmcp_proxy", *options]


def _fastmcp_tuned(site: Site) -> list[str]:
    return [*_fastmcp(site), "--tuned"]


DIRECT, DEFAULT, OFF, RELAY, BYTES = "direct", "handfast", "handfast-off", "relay-only", "bytes-only"

_OWN = "/mcp/{name}"
CONTENDERS = (
    Contender(DEFAULT, "handfast serve, defaults", _handfast, _OWN, (SDK, LEAN)),
    Contender(OFF, "handfast serve, both modes off", _handfast_off, _OWN, (SDK, LEAN)),
    Contender(RELAY, "the same gateway, judging taken out", _relay_only, _OWN, (SDK, LEAN)),
    Contender(BYTES, "bytes only: no reading, judging, records", _bytes_relay, "/mcp", (LEAN,)),
    Contender("fastmcp-tuned", "FastMCP 4.1.2 proxy, tuned", _fastmcp_tuned),
    Contender("fastmcp", "FastMCP 4.1.2 proxy, as shipped", _fastmcp),
)
LABELS = {DIRECT: "nothing (direct)"} | {contender.key: contender.label for contender in CONTENDERS}
