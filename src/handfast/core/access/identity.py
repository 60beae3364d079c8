"""The identity of a caller who signed in: who it is, and which rights its token gives it. Pure."""

from math import inf

import msgspec

from handfast.core.access.scopes import Scope


class Identity(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a verified token says. Tokens of one subject have an identity each, because their rights may differ."""

    subject: str
    issuer: str = ""  # its name in the settings; empty for tokens of this gateway
    client: str = ""  # the application that the token was given to
    groups: frozenset[str] = frozenset()
    scopes: tuple[Scope, ...] = ()
    token: str = ""  # the token's id, which is no secret
    audiences: frozenset[str] | None = None  # the addresses that the token is for; None: all of this gateway
    expires: float = inf  # seconds since 1970
    # What its scopes were found to allow, by server, tool and kind. They are compared once for each tool, not per call.
    decided: dict[tuple[str, str, str], bool] = msgspec.field(default_factory=dict)

    @property
    def actor(self) -> str:
        """The caller's name in records and rules. Subjects of this gateway have no colon, so no two are the same."""
        return f"{self.issuer}:{self.subject}" if self.issuer else self.subject
