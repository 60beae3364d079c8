"""The places of the matrix: where a client meets handfast, how handfast reaches the server, and what era each is of."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from tests.contracts.matrix.client import CAPABILITIES, Client, HttpClient, LineClient
from tests.contracts.rig import Json, serve, wrap
from tests.gateway.translate.servers.asking import LEGACY, MODERN, WAYS, Way, entry_for
from tests.stubs.run import Stub

Front = Literal["wrap", "server", "all"]
Era = Literal["legacy", "modern"]


@dataclass(frozen=True, slots=True)
class Place:
    front: Front  # `handfast wrap`, /mcp/<server>, /mcp
    way: Way
    client: Era
    server: Era

    def __str__(self) -> str:
        return f"{self.front}-{self.way}-{self.client}-to-{self.server}"

    @property
    def is_relayed(self) -> bool:
        """Whether messages pass as they come: one server, both sides of one era, not from stdio to HTTP."""
        is_one_server = self.front == "server" or (self.front == "wrap" and self.way == "stdio")
        return is_one_server and self.client == self.server

    @property
    def prefix(self) -> str:
        return "up__" if self.front == "all" else ""

    @property
    def versions(self) -> list[str]:
        return MODERN if self.server == "modern" else LEGACY

    @property
    def can_tell(self) -> bool:
        """Whether the server can say anything before an answer: a modern one has only the answer's own body for it."""
        return not (self.way == "http-json" and self.server == "modern")


PLACES = [Place(*each) for each in product(get_args(Front), WAYS, get_args(Era), get_args(Era))]


@contextmanager
def connected(place: Place, stub: Stub, folder: Path, own: Json, **blocks: Json) -> Iterator[Client]:
    """A client at the place, its handshake done. `own` is the server's own block in the settings."""
    with entry_for(stub, place.way) as entry:
        settings = {"mcpServers": {"up": {**entry, "handfast": own}}, **blocks}
        with _wrapped(place, settings, folder) if place.front == "wrap" else _served(place, settings, folder) as client:
            client.open(CAPABILITIES)
            if not client.is_modern:
                client.listen()
            try:
                yield client
            finally:
                client.close()


@contextmanager
def _wrapped(place: Place, settings: Json, folder: Path) -> Iterator[Client]:
    entry = settings["mcpServers"]["up"]
    (folder / "handfast.json").write_text(json.dumps(settings))
    server = ["--url", entry["url"]] if "url" in entry else ["--", entry["command"], *entry["args"]]
    with wrap(server, folder) as process:
        yield LineClient(process, folder / "state", is_modern=place.client == "modern")


@contextmanager
def _served(place: Place, settings: Json, folder: Path) -> Iterator[Client]:
    path = "/mcp" if place.front == "all" else "/mcp/up"
    with serve(settings, folder) as base:
        is_modern = place.client == "modern"
        yield HttpClient(base, folder / "state", path=path, prefix=place.prefix, is_modern=is_modern)
