"""The gateway's own blocks of the settings file: types, bounds, defaults and meaning, once."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from handfast.access.trusted import TRUSTED_URL, TrustedIssuer
from handfast.core.call.recording import KEEP_BYTES, WHOLE_REFUSALS, Durability, OnFailure
from handfast.wire.methods import LIST_KINDS

PORT = "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
HOST = r"([A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])"


class Bodies(StrEnum):
    """Whether arguments and results are kept beside their shape."""

    NONE = "none"
    REDACTED = "redacted"


class Surface(StrEnum):
    FULL = "full"
    COMPACT = "compact"


class Isolation(StrEnum):
    """Whether clients share one stdio child."""

    AUTO = "auto"
    SHARED = "shared"
    SESSION = "session"


class Start(StrEnum):
    """When the process of a stdio server is started."""

    EAGER = "eager"
    LAZY = "lazy"


class Bridge(StrEnum):
    """Whether clients and servers of different protocol eras are translated for each other."""

    AUTO = "auto"
    OFF = "off"


class AuthMode(StrEnum):
    """How callers say who they are."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105 - a word of the settings
    OAUTH = "oauth"


class Auth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may use the gateway at all."""

    mode: Annotated[
        AuthMode,
        Meta(
            description="`token` asks every caller for a token that `handfast token create` has made, `oauth` for one"
            " of those or of an issuer; `none` asks nobody, and the gateway then listens on loopback only."
        ),
    ] = AuthMode.NONE
    public_url: Annotated[
        Annotated[str, Meta(pattern=TRUSTED_URL)] | None,
        Meta(
            description="The address by which clients reach the gateway, without a path; with `oauth` it is part of"
            " what tokens are made for.",
            extra={"wanted": "an https address such as https://tools.example.com, or http on loopback"},
        ),
    ] = None
    issuers: Annotated[
        tuple[TrustedIssuer, ...],
        Meta(
            description="The authorization servers whose tokens are accepted with `oauth`.",
            extra={"wanted": 'a list of issuers such as [{"name": "corp", "issuer": "https://login.example.com"}]'},
        ),
    ] = ()
    scopes: Annotated[
        tuple[Annotated[str, Meta(pattern="^[!#-\\[\\]-~]+$")], ...],
        Meta(
            description="Scopes that clients are told to ask their issuer for when they first sign in.",
            extra={"wanted": "a list of scopes such as contacts:read"},
        ),
    ] = ()


class Tls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The listener's own certificate, where nothing in front of the gateway has one."""

    certificate: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A PEM file with the gateway's certificate and its chain; read again when it changes.",
            extra={"wanted": "the path of a PEM file"},
        ),
    ] = None
    key: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        Meta(
            description="A PEM file with the certificate's private key, without a password.",
            extra={"wanted": "the path of a PEM file"},
        ),
    ] = None


class Activity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept about calls, and how surely."""

    store: Annotated[
        str,
        Meta(
            pattern="^(sqlite|(sqlite|postgres|postgresql)://.+)$",
            description="Where records are kept: `sqlite` (a file in the state folder) or a database URL.",
            extra={"wanted": "sqlite, or a URL that starts with sqlite:// or postgresql://"},
        ),
    ] = "sqlite"
    durability: Annotated[
        Durability,
        Meta(description="Records that are on disk before the reply leaves: decisions only, all of them, or none."),
    ] = Durability.DECISIONS
    bodies: Annotated[
        Bodies, Meta(description="`redacted` also keeps arguments and results, with secrets taken out.")
    ] = Bodies.NONE
    keep_days: Annotated[
        Annotated[int, Meta(ge=1, le=36_500)] | None,
        Meta(description="Records older than this are removed; null keeps them."),
    ] = None
    keep_bytes: Annotated[
        # Below one mebibyte an SQLite file with its indexes would prune what it has just written.
        Annotated[int, Meta(ge=1024 * 1024)] | None,
        Meta(
            description="Once the store's files are larger than this, plain successes are removed from it, and where"
            " none are left the oldest records; null sets no bound."
        ),
    ] = KEEP_BYTES
    whole_refusals: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(
            description="Refusals of one caller, server, tool and rule that are whole records in a minute, thirty"
            " times that of one caller and sixty times of all; further ones are counted. null records all of them."
        ),
    ] = WHOLE_REFUSALS
    on_failure: Annotated[
        OnFailure,
        Meta(description="While records cannot be written calls are refused; `continue` lets them pass unrecorded."),
    ] = OnFailure.REFUSE

    def __repr__(self) -> str:
        """Without the store: its URL may hold a password."""
        rest = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "store")
        return f"Activity({', '.join(rest)})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """As above, for tracebacks that are printed with the values of variables."""
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name != "store"]


_Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds that keep one caller or server from taking everything."""

    call_timeout_s: Annotated[
        # Clients wait a minute by default and reset on progress; five minutes leaves room for slow tools that report.
        _Seconds, Meta(description="A call that shows no progress for this many seconds ends with a timeout.")
    ] = 300.0
    call_total_s: Annotated[
        # A tool that reports progress for an hour has work for a task of its own; without a bound it may hold its
        # place, its connection and its caller for ever.
        _Seconds, Meta(description="A call that took this many seconds in all ends with a timeout, progress or not.")
    ] = 3600.0
    body_bytes: Annotated[
        # What the official TypeScript SDK's servers accept: a larger body would be refused one hop later anyway.
        int, Meta(ge=1, le=1024**3, description="The largest request body accepted from a client over HTTP.")
    ] = 4 * 1024 * 1024
    message_bytes: Annotated[
        int, Meta(ge=1, le=1024**3, description="The largest message accepted from a server, in every mode.")
    ] = 64 * 1024 * 1024
    list_bytes: Annotated[
        # As much as a context of a million tokens holds. A list is read several times on its way, and others wait.
        int, Meta(ge=1024, le=1024**3, description="The largest page of a list that `serve` accepts from a server.")
    ] = 4 * 1024 * 1024
    connections: Annotated[
        # A thousand sessions, each with its stream to listen on and a connection or two for calls; idle ones make way.
        int, Meta(ge=2, le=65_536, description="Connections of clients at once; of one address at most half as many.")
    ] = 4096
    requests_per_minute: Annotated[
        Annotated[int, Meta(ge=1, le=10_000_000)] | None,
        Meta(
            description="Requests of one caller in a minute, on all servers; further ones are refused. null: no bound."
        ),
    ] = None
    concurrent_calls: Annotated[
        # With every result at its bound of 5 MiB this many calls hold 1.3 GB: busy, not dead.
        int, Meta(ge=1, le=100_000, description="Calls in progress at once, on all servers; further ones are refused.")
    ] = 256
    calls_per_server: Annotated[
        # More than the forty threads of a Python server, and a quarter of all: three that hang leave room for the rest.
        int, Meta(ge=1, le=100_000, description="Calls in progress at once on one server; further ones wait in line.")
    ] = 64
    queued_calls: Annotated[
        # A waiting call holds its request: sixteen megabytes of them at most.
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Calls that may wait for one server, a large one counted once more for every 64 KiB;"
            " further ones are refused.",
        ),
    ] = 256
    queue_timeout_s: Annotated[
        # Clients give up after a minute: half of it is left for the call itself.
        _Seconds, Meta(description="A call that waited in line for this many seconds is refused.")
    ] = 30.0
    retry_idempotent: Annotated[
        bool,
        Meta(description="Repeat a call once if its server broke off, where its tool says that a repeat is harmless."),
    ] = False
    drain_timeout_s: Annotated[
        # Containers are killed ten seconds after the signal, and stopping the servers may take four of them.
        _Seconds, Meta(description="How long calls under way may take to finish when the gateway is stopped.")
    ] = 5.0
    schema_bytes: Annotated[
        # Above this a schema counts as uncompilable; real ones stay far below.
        int,
        Meta(
            ge=1,
            le=64 * 1024**2,
            description="The largest tool schema that is compiled, without annotations; with them four times that.",
        ),
    ] = 256 * 1024
    tools_per_server: Annotated[
        # A model's context holds a few hundred tools; reading this many takes 0.2 s, in slices.
        int, Meta(ge=1, le=20_000, description="Tools of one server that are learnt and offered; the rest is not.")
    ] = 10_000
    sessions: Annotated[
        # A Node server takes about 60 MB, so a full house stays around one gigabyte.
        int, Meta(ge=1, le=10_000, description="The most stdio children of one server, when sessions have their own.")
    ] = 16
    session_idle_s: Annotated[
        # Long enough for a person to think between two turns, short enough that yesterday's children are gone.
        _Seconds, Meta(description="A session that was silent for this many seconds is closed with its child.")
    ] = 900.0
    question_timeout_s: Annotated[
        # A person has to read, decide and type; a tool that waits holds a session open meanwhile.
        _Seconds, Meta(description="How long a call is held for a client that its server asked something in mid-call.")
    ] = 300.0
    handshake_timeout_s: Annotated[
        # npx may have to install the server first.
        _Seconds, Meta(description="How long a stdio or sse server may take to answer initialize before it is stopped.")
    ] = 60.0
    learn_timeout_s: Annotated[
        # Past this a call goes on unjudged and is recorded as such; clients give up after sixty.
        _Seconds, Meta(description="How long a call waits for its tool's contract to become known.")
    ] = 5.0
    restarts: Annotated[
        # With waits that double these are a minute and a half of trying: longer than a package takes to be installed.
        int,
        Meta(ge=1, le=1000, description="Failed starts of a stdio server in a row, after which one a minute is made."),
    ] = 10
    connection_failures: Annotated[
        # One lost connection is chance and two a restart; five in a row without any answer are neither.
        int, Meta(ge=1, le=1000, description="Failures to reach an HTTP server in a row, after which it is left alone.")
    ] = 5

    def answer_bytes(self, method: str | None) -> int:
        """How large the answer to a request may be."""
        return min(self.list_bytes, self.message_bytes) if method in LIST_KINDS else self.message_bytes


class Listening(Struct, frozen=True, kw_only=True):
    """The keys beside the blocks."""

    listen: Annotated[
        str,
        Meta(
            pattern=f"^{HOST}:{PORT}$",
            description="Host and port of the gateway; port 0 takes a free one.",
            extra={"wanted": "host:port, such as 127.0.0.1:8480 or [::1]:8480"},
        ),
    ] = "127.0.0.1:8480"
    allowed_hosts: Annotated[
        tuple[Annotated[str, Meta(pattern=f"^{HOST}(:{PORT})?$")], ...],
        Meta(
            description="Host headers accepted besides loopback names and the address listened on.",
            extra={"wanted": "a list of host names, each with or without a port, such as gateway.example:8480"},
        ),
    ] = ()
    allowed_origins: Annotated[
        tuple[Annotated[str, Meta(pattern=f"^[a-z][a-z0-9+.-]*://{HOST}(:{PORT})?$")], ...],
        Meta(
            description="Origin headers accepted besides loopback ones; pages of any other origin are refused.",
            extra={"wanted": "a list of origins without a path, such as https://app.example"},
        ),
    ] = ()
    start: Annotated[
        Start,
        Meta(
            description="`eager` starts stdio servers with the gateway, a few at a time, and learns what they offer;"
            " `lazy` starts each with its first request."
        ),
    ] = Start.EAGER


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What only a server's own `handfast` block may say."""

    surface: Annotated[
        Surface, Meta(description="`full` lists every tool; `compact` one tool that explains and calls the others.")
    ] = Surface.FULL
    isolation: Annotated[
        Isolation,
        Meta(description="A stdio child is shared between clients where that is safe, always, or never."),
    ] = Isolation.AUTO
    start: Annotated[
        Start | None,
        Meta(description="As the `start` beside the blocks, for this server; null takes that."),
    ] = None
    bridge: Annotated[
        Bridge, Meta(description="Translate for clients of the other protocol era, or offer only the server's own.")
    ] = Bridge.AUTO
    forward_headers: Annotated[
        tuple[Annotated[str, Meta(pattern="^[!#$%&'*+.^`|~0-9A-Za-z-]+$")], ...],
        Meta(
            description="Headers of a client that an HTTP server gets besides those of the protocol.",
            extra={"wanted": "a list of header names without underscores, such as X-Tenant"},
        ),
    ] = ()
    concurrent_calls: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)] | None,
        Meta(description="Calls in progress at once on this server; null takes `limits.calls_per_server`."),
    ] = None
    retry_idempotent: Annotated[
        bool | None,
        Meta(description="As `limits.retry_idempotent`, for this server; null takes that."),
    ] = None
