"""Signing in: each request's caller, found by the token that came with it."""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from handfast.access.refused import NEEDS_EXTRA, AuthRefused
from handfast.activity.store import StoreError
from handfast.core.access.identity import Identity
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import RecordType, Status
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings.blocks import AuthMode

if TYPE_CHECKING:  # at run time imported once tokens are asked for: they need packages that are an extra
    from handfast.access.tokens import KnownTokens

_LOOK_SECONDS: Final = 1.0  # a revoked token ends within twice that
_MOST_KNOWN: Final = 4096  # verified tokens that are remembered
_REMEMBERED_SECONDS: Final = 60.0
_BEARER: Final = re.compile(rb"(?i:bearer) +([A-Za-z0-9._~+/=-]+)")
_IN_QUERY: Final = re.compile(rb"(?:^|&)(?:access_token|token)=", re.IGNORECASE)
_UNQUOTABLE: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")  # RFC 6750, 3: a tool may have any name
_MISSING: Final = (
    "This gateway asks who calls, and no token came. Send one as Authorization: Bearer <token>; the operator makes it"
    " with: handfast token create NAME"
)
_MALFORMED: Final = "Authorization is not of the form: Bearer <token>. Send the whole token, and nothing else."
_QUERY: Final = "A token in the address ends up in logs. Send it as Authorization: Bearer <token>, and revoke this one."
_UNREADABLE: Final = "Tokens cannot be checked at the moment. Try again later; the operator finds why in the output."

_log = logging.getLogger("handfast.gateway")


class SignIn:
    """Follows `auth.mode`, and what is revoked while the gateway runs."""

    def __init__(self, runtime: Runtime) -> None:
        """Raises: StoreError."""
        self._runtime = runtime
        self._tokens: KnownTokens | None = None
        self._known: dict[bytes, tuple[Identity, float]] = {}  # by digest of the header, with the time to look again
        self._task: asyncio.Task[None] | None = None
        if self.is_needed:
            self._open()

    @property
    def is_needed(self) -> bool:
        return self._runtime.settings.auth.mode is not AuthMode.NONE

    def _open(self) -> "KnownTokens":
        """Raises: StoreError."""
        if self._tokens is None:
            try:
                from handfast.access.tokens import KnownTokens
            except ImportError:
                raise StoreError(NEEDS_EXTRA) from None
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
                end_requests(self._is_over)

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

    def _is_over(self, caller: Caller) -> bool:
        identity = caller.identity
        if identity is None:
            return False
        in_force = self._tokens is not None and self._tokens.is_in_force(identity.token)
        return not in_force or identity.expires <= time.time()

    # --- one request -------------------------------------------------------------------------------------------------

    def admit(self, http: HttpExchange, server: str) -> None:
        """Makes the caller of a request known. Raises: HttpProblem 400, 401 and 503, which are on record."""
        try:
            if http.query and _IN_QUERY.search(http.query):
                raise AuthRefused(rules.AUTH_QUERY, _QUERY)
            http.caller = http.caller.signed_in(self._identify(http.header(b"authorization")))
        except AuthRefused as problem:
            self._record(http, server, problem)
            raise self._answer(server, problem) from None

    def is_known(self, http: HttpExchange) -> bool:
        """Whether the caller can sign in, without a record where it cannot."""
        try:
            self._identify(http.header(b"authorization"))
        except (AuthRefused, HttpProblem):
            return False
        return True

    def _identify(self, header: bytes | None) -> Identity:
        """Raises: AuthRefused, HttpProblem 503."""
        if header is None:
            raise AuthRefused(rules.AUTH_MISSING, _MISSING)
        digest = sha256(header).digest()
        now = time.time()
        found = self._known.get(digest)
        if found is not None and found[1] > now:
            return found[0]
        identity = self._verify(header, now)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[digest] = (identity, min(identity.expires, now + _REMEMBERED_SECONDS))
        return identity

    def _verify(self, header: bytes, now: float) -> Identity:
        bearer = _BEARER.fullmatch(header)
        if bearer is None:
            raise AuthRefused(rules.AUTH_MALFORMED, _MALFORMED)
        if self._tokens is None:
            raise HttpProblem(503, _UNREADABLE)
        try:
            return self._tokens.verify(bearer[1], now)
        except AuthRefused as problem:
            if problem.rule != rules.AUTH_UNKNOWN_KEY:
                raise
        self._look()  # it may have been made a moment ago
        if self._tokens is None:
            raise HttpProblem(503, _UNREADABLE)
        return self._tokens.verify(bearer[1], now)

    def _answer(self, server: str, problem: AuthRefused) -> HttpProblem:
        if problem.rule == rules.AUTH_QUERY:
            return HttpProblem(400, problem.text, rule="")
        # RFC 6750: no error code where no token was sent.
        error = "" if problem.rule == rules.AUTH_MISSING else "invalid_token"
        return HttpProblem(401, problem.text, rule="", headers=[self.challenge(server, error, problem.text)])

    def challenge(self, server: str, error: str, text: str, *, scope: str = "") -> tuple[bytes, bytes]:  # noqa: ARG002
        """The header that says why a request was refused, and how to do better."""
        said = ['realm="handfast"']
        if error:
            said += [f'error="{error}"', f'error_description="{_UNQUOTABLE.sub("?", text)}"']
        if scope:
            said.append(f'scope="{scope}"')
        return (b"www-authenticate", f"Bearer {', '.join(said)}".encode())

    def _record(self, http: HttpExchange, server: str, problem: AuthRefused) -> None:
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
