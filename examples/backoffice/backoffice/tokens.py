"""Who may call over HTTP: bearer tokens and the actors they stand for, from a file that the operator keeps."""

import hashlib
import hmac
import json
from pathlib import Path

from mcp.server.auth.provider import AccessToken


class UnreadableTokens(Exception):
    """The file is not `{"token": "actor", …}`."""


class TokenFile:
    """The SDK asks this for every request."""

    def __init__(self, path: Path) -> None:
        """Raises: UnreadableTokens, OSError."""
        try:
            known = json.loads(path.read_text("utf-8"))
        except ValueError:
            known = None
        if not isinstance(known, dict) or not all(isinstance(actor, str) and actor for actor in known.values()):
            raise UnreadableTokens('The file of tokens is not {"token": "actor", …}. Write it so.')
        # Only digests are kept: what is compared is of one length, and takes one time.
        self._actors = {hashlib.sha256(token.encode()).digest(): actor for token, actor in known.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        given = hashlib.sha256(token.encode()).digest()
        for digest, actor in self._actors.items():
            if hmac.compare_digest(digest, given):
                return AccessToken(token=token, client_id=actor, subject=actor, scopes=[])
        return None
