"""Clients with a token, and the tokens of a running gateway."""

import time
from pathlib import Path

from handfast.access.token_store import TokenStore
from handfast.access.tokens import issue_token
from handfast.core.access.scopes import parse_scopes
from tests.contracts.rig import HttpGateway
from tests.gateway.running import Serving


def token(state: Path, scopes: str = "*", *, name: str = "", subject: str = "alice", seconds: float = 600) -> str:
    """A token as `handfast token create` makes it."""
    store = TokenStore(state)
    now = time.time()
    _, text = issue_token(
        store,
        name=name or f"t{time.monotonic_ns()}",
        subject=subject,
        scopes=parse_scopes(scopes),
        groups=(),
        seconds=seconds,
        now=now,
    )
    return text


class SignedClient(HttpGateway):
    """A client whose requests carry a token. `place` is a path, and the server where the path has all of them."""

    def __init__(self, gateway: Serving, place: str, text: str | None, *, is_modern: bool) -> None:
        super().__init__(gateway.base, gateway.state, is_modern=is_modern)
        self.path, _, server = place.partition("#")
        self.prefix = f"{server}__" if server else ""
        self.token = text

    def headers(self, message: bytes) -> dict[str, str]:
        return super().headers(message) | self._signed()

    def listening_headers(self) -> dict[str, str]:
        return super().listening_headers() | self._signed()

    def _signed(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}
