"""Signing in: each request's caller, found by the token that came with it."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from handfast.access.refused import NEEDS_EXTRA, AuthRefused
from handfast.activity.store import StoreError
from handfast.core.access.identity import Identity
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import RecordType, Status
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings.blocks import Auth, AuthMode

if TYPE_CHECKING:  # at run time imported once tokens are asked for: they need packages that are an extra
    from handfast.access.issuers import Issuers
    from handfast.access.tokens import KnownTokens

# Where clients look for what they need to sign in (RFC 9728); the path of the endpoint comes after it.
METADATA: Final = "/.well-known/oauth-protected-resource"

_LOOK_SECONDS: Final = 1.0  # a revoked token ends within twice that
_MOST_KNOWN: Final = 4096  # verified tokens that are remembered
_LONGEST_KNOWN: Final = 4096  # bytes of such a header: most have one or two thousand
_REMEMBERED_SECONDS: Final = 60.0
_MOST_PEERS: Final = 64  # addresses from which one token is used
_BEARER: Final = re.compile(rb"(?i:bearer) +([A-Za-z0-9._~+/=-]+)")
_IN_QUERY: Final = re.compile(rb"(?:^|&)(?:access_token|token)=", re.IGNORECASE)
_UNQUOTABLE: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")  # RFC 6750, 3: a tool may have any name
_MISSING: Final = (
    "This gateway asks who calls, and no token came. Send one as Authorization: Bearer <token>; the operator makes it"
    " with: handfast token create NAME"
)
_SIGN_IN: Final = (
    "This gateway asks who calls, and no token came. Sign in with a client that follows WWW-Authenticate, or send a"
    " token as Authorization: Bearer <token>."
)
_MALFORMED: Final = "Authorization is not of the form: Bearer <token>. Send the whole token, and nothing else."
_QUERY: Final = "A token in the address ends up in logs. Send it as Authorization: Bearer <token>, and revoke this one."
_UNREADABLE: Final = "Tokens cannot be checked at the moment. Try again later; the operator finds why in the output."

_log = logging.getLogger("handfast.gateway")


@dataclass(slots=True)
class _Known:
    """A token that was verified, as it was sent."""

    identity: Identity
    until: float  # then it is verified again
    callers: dict[str, Caller] = field(default_factory=dict)  # who showed it, by network address


class SignIn:
    """Follows `auth` in the settings, and what is revoked while the gateway runs."""

    def __init__(self, runtime: Runtime) -> None:
        """Raises: StoreError."""
        self._runtime = runtime
        self._tokens: KnownTokens | None = None
        self._issuers: Issuers | None = None
        self._auth: Auth | None = None  # what tokens and issuers were made for
        self._known: dict[bytes, _Known] = {}  # by header
        self._task: asyncio.Task[None] | None = None
        self._has_changed = False  # whoever was let in by other settings is not known by these
        if self.is_needed:
            self._open()

    @property
    def is_needed(self) -> bool:
        return self._runtime.settings.auth.mode is not AuthMode.NONE

    def _open(self) -> "KnownTokens":
        """Reads the tokens, unless they were, and takes up changed settings. Raises: StoreError."""
        auth = self._runtime.settings.auth
        try:
            from handfast.access.issuers import Issuers
            from handfast.access.tokens import KnownTokens
        except ImportError:
            raise StoreError(NEEDS_EXTRA) from None
        if auth != self._auth:
            self._has_changed = self._auth is not None or self._task is not None
            self._auth = auth
            self._known.clear()
            self._issuers = Issuers(auth.issuers) if auth.mode is AuthMode.OAUTH else None
        if self._tokens is None:
            self._tokens = KnownTokens(self._runtime.folder)
        return self._tokens

    def start(self, end_requests: Callable[[Callable[[Caller], bool]], None]) -> None:
        """Ends the requests of callers whose tokens are revoked or expire, from now on."""
        self._task = asyncio.create_task(self._follow(end_requests))

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._tokens is not None:
            self._tokens.close()

    async def _follow(self, end_requests: Callable[[Callable[[Caller], bool]], None]) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self.is_needed:
                self._look()
                end_requests(self._is_from_before if self._has_changed else self._is_over)
                self._has_changed = False
            else:
                self._auth = None

    def _look(self) -> None:
        try:
            if self._open().look():
                self._known.clear()
        except StoreError as problem:
            # What was revoked is not known now, so nobody is let in until it is.
            _log.error("%s", problem)
            self._known.clear()
            if self._tokens is not None:
                self._tokens.close()
                self._tokens = None

    def _is_from_before(self, caller: Caller) -> bool:
        return caller.identity is None or bool(caller.identity.issuer) or self._is_over(caller)

    def _is_over(self, caller: Caller) -> bool:
        identity = caller.identity
        if identity is None:
            return False  # a request that is being signed in, or one that needs no caller
        if identity.expires <= time.time():
            return True
        if identity.issuer:
            return self._issuers is None or not self._issuers.has(identity.issuer)
        return self._tokens is None or not self._tokens.is_in_force(identity.token)

    # --- one request -------------------------------------------------------------------------------------------------

    def admit(self, http: HttpExchange, server: str) -> Coroutine[Any, Any, None] | None:  # Any: a coroutine's types
        """Makes the caller of a request known: at once, or by what is returned, where keys have to be fetched.

        Raises: HttpProblem 400, 401 and 503, which are on record.
        """
        try:
            if http.query and _IN_QUERY.search(http.query):
                raise AuthRefused(rules.AUTH_QUERY, _QUERY)
            header = http.header(b"authorization")
            known = None if header is None else self._known.get(header)
            if known is None or known.until <= time.time():
                bearer = self._read(header)
                if self._issuers is not None and self._issuers.issued(bearer):
                    return self._admit_issued(http, server, header or b"", bearer)
                known = self._remember(header or b"", self._verify(bearer))
            self._let_in(http, server, known)
        except AuthRefused as problem:
            raise self._refused(http, server, problem) from None
        return None

    async def _admit_issued(self, http: HttpExchange, server: str, header: bytes, bearer: bytes) -> None:
        """Raises: HttpProblem 401."""
        issuers = self._issuers
        assert issuers is not None
        try:
            identity = await issuers.verify(bearer, time.time())
            if self._issuers is not issuers:  # the settings have changed meanwhile
                raise AuthRefused(rules.AUTH_ISSUER, "The settings have changed. Send the request again.")
            self._let_in(http, server, self._remember(header, identity))
        except AuthRefused as problem:
            raise self._refused(http, server, problem) from None

    def _let_in(self, http: HttpExchange, server: str, known: "_Known") -> None:
        """Raises: AuthRefused."""
        identity = known.identity
        if identity.audiences is not None and self.resource(server) not in identity.audiences:
            raise AuthRefused(rules.AUTH_AUDIENCE, "The token was made for another address. Sign in for this one.")
        caller = known.callers.get(http.caller.peer)
        if caller is None:
            if len(known.callers) >= _MOST_PEERS:
                known.callers.clear()
            caller = known.callers[http.caller.peer] = http.caller.signed_in(identity)
        http.caller = caller

    def identify(self, http: HttpExchange) -> Identity | None:
        """Whose token came, if it is one of this gateway or was checked before; without a record."""
        header = http.header(b"authorization")
        known = None if header is None else self._known.get(header)
        if known is not None and known.until > time.time():
            return known.identity
        try:
            return self._verify(self._read(header))
        except (AuthRefused, HttpProblem):
            return None

    def _remember(self, header: bytes, identity: Identity) -> "_Known":
        until = min(identity.expires, time.time() + _REMEMBERED_SECONDS)
        known = self._known.get(header)
        if known is not None:
            known.until = until  # the same text says the same: sessions and what was decided go on with one object
            return known
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        known = _Known(identity, until)
        if len(header) <= _LONGEST_KNOWN:
            self._known[header] = known
        return known

    def _read(self, header: bytes | None) -> bytes:
        """The token of a header. Raises: AuthRefused, HttpProblem 503."""
        if header is None:
            raise AuthRefused(rules.AUTH_MISSING, _MISSING if self._issuers is None else _SIGN_IN)
        bearer = _BEARER.fullmatch(header)
        if bearer is None:
            raise AuthRefused(rules.AUTH_MALFORMED, _MALFORMED)
        if self._tokens is None:
            raise HttpProblem(503, _UNREADABLE)
        return bearer[1]

    def _verify(self, bearer: bytes) -> Identity:
        """The identity of a token of this gateway. Raises: AuthRefused, HttpProblem 503."""
        assert self._tokens is not None
        try:
            return self._tokens.verify(bearer, time.time())
        except AuthRefused as problem:
            if problem.rule != rules.AUTH_UNKNOWN_KEY:
                raise
        self._look()  # it may have been made a moment ago
        if self._tokens is None:
            raise HttpProblem(503, _UNREADABLE)
        return self._tokens.verify(bearer, time.time())

    # --- what a caller is told ---------------------------------------------------------------------------------------

    def resource(self, server: str) -> str:
        """The address of an endpoint, as tokens are made for it."""
        base = (self._runtime.settings.auth.public_url or "").rstrip("/")
        return f"{base}/mcp/{server}" if server else f"{base}/mcp"

    def metadata(self, path: str) -> dict[str, object] | None:
        """What a client needs to sign in at an endpoint (RFC 9728); None where there is nothing of that kind.

        It is the same for servers that are not here: strangers do not learn which ones are.
        """
        if self._runtime.settings.auth.mode is not AuthMode.OAUTH or not path.startswith(METADATA):
            return None
        endpoint = path.removeprefix(METADATA)
        server = endpoint.removeprefix("/mcp/") if endpoint.startswith("/mcp/") else ""
        if not server and endpoint not in ("", "/mcp"):
            return None
        auth = self._runtime.settings.auth
        return {
            "resource": self.resource(server),
            "authorization_servers": [one.issuer for one in auth.issuers],
            "bearer_methods_supported": ["header"],
            "resource_name": f"handfast: {server}" if server else "handfast",
            **({"scopes_supported": list(auth.scopes)} if auth.scopes else {}),
        }

    def challenge(self, server: str, error: str, text: str, *, scope: str = "") -> tuple[bytes, bytes]:
        """The header that says why a request was refused, and how to do better."""
        auth = self._runtime.settings.auth
        said = ['realm="handfast"']
        if auth.mode is AuthMode.OAUTH:
            base = (auth.public_url or "").rstrip("/")
            endpoint = self.resource(server).removeprefix(base)
            said.append(f'resource_metadata="{_UNQUOTABLE.sub("?", base + METADATA + endpoint)}"')
            scope = scope or " ".join(auth.scopes)
        if error:
            said += [f'error="{error}"', f'error_description="{_UNQUOTABLE.sub("?", text)}"']
        if scope:
            said.append(f'scope="{scope}"')
        return (b"www-authenticate", f"Bearer {', '.join(said)}".encode())

    def _refused(self, http: HttpExchange, server: str, problem: AuthRefused) -> HttpProblem:
        """Puts the refusal on record; what the client is answered."""
        self._runtime.journal.note(
            RecordType.AUTH_FAILURE,
            Status.BLOCKED,
            server=server if server in self._runtime.settings.servers else "",  # a client may send any name
            rule=problem.rule,
            reason=f"A request was refused: {problem.text}",
            caller=http.caller,
            details={"address": http.caller.peer},
            is_refusal=True,
        )
        if problem.rule == rules.AUTH_QUERY:
            return HttpProblem(400, problem.text, rule="")
        # RFC 6750: no error code where no token was sent.
        error = "" if problem.rule == rules.AUTH_MISSING else "invalid_token"
        return HttpProblem(401, problem.text, rule="", headers=[self.challenge(server, error, problem.text)])
