"""Toolbox: the object that an author registers tools with, and starts as a server."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar, overload

from handfast.core.answers.codes import DeclaredCode
from handfast.core.answers.envelopes import Envelope
from handfast.core.call.exchange import Recorder
from handfast.toolkit.offering.dispatcher_tools import Names
from handfast.toolkit.offering.renamed import Today, today_utc
from handfast.toolkit.registry import CALL_TIMEOUT_S, ToolRegistry
from handfast.toolkit.running.dispatch import Answer
from handfast.toolkit.running.kept_results import ResultStore
from handfast.toolkit.running.piece_form import PIECE_BYTES
from handfast.toolkit.running.recording import SharedRecorder
from handfast.toolkit.writing.actor import ActorResolver, actor_of_request
from handfast.toolkit.writing.builders import with_handlers
from handfast.toolkit.writing.schemas import ContractError
from handfast.toolkit.writing.spec import Kind, ToolSpec
from handfast.toolkit.writing.typed_form import require_function, spec_of_function

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from handfast.toolkit.serve.serving import ToolboxServer

F = TypeVar("F", bound=Callable[..., Any])  # Any: a tool's own signature


class Toolbox:
    """The tools of one server. Every tool gets `app` as `call.app`."""

    def __init__(
        self,
        name: str,
        *,
        envelope: Envelope | str = Envelope.PLAIN,
        codes: Iterable[DeclaredCode | str] = (),
        app: Any = None,  # Any: the application's own state
        version: str = "",
        instructions: str | None = None,
        actor: ActorResolver = actor_of_request,
        recorder: Recorder | None = None,
        timeout_s: float = CALL_TIMEOUT_S,
        in_pieces: bool = False,
        piece_bytes: int = PIECE_BYTES,
        results: ResultStore | None = None,
        today: Today = today_utc,
    ) -> None:
        self.name = name
        self.version = version
        self.instructions = instructions
        if inspect.iscoroutinefunction(actor):
            raise ContractError(f"The actor of '{name}' must come from a function that is not async; write `def`.")
        self.actor = actor
        self.registry = ToolRegistry(
            name,
            envelope=envelope,
            codes=codes,
            app_state=app,
            recorder=recorder,
            timeout_s=timeout_s,
            in_pieces=in_pieces,
            piece_bytes=piece_bytes,
            results=results,
            today=today,
        )
        self.recording = SharedRecorder(self.registry)
        self._server: ToolboxServer | None = None

    @property
    def app(self) -> Any:  # Any: as above
        return self.registry.app_state

    # --- the typed form --------------------------------------------------------------------------------------------

    @overload
    def read(self, function: F, /) -> F: ...
    @overload
    def read(self, /, **more: Any) -> Callable[[F], F]: ...
    def read(self, function: F | None = None, /, **more: Any) -> F | Callable[[F], F]:  # Any: of `spec_of_function`
        """Registers a function as a tool that only reads."""
        return self._typed(Kind.READ, function, more)

    @overload
    def write(self, function: F, /) -> F: ...
    @overload
    def write(self, /, **more: Any) -> Callable[[F], F]: ...
    def write(self, function: F | None = None, /, **more: Any) -> F | Callable[[F], F]:  # Any: as above
        """Registers a function as a tool that changes something."""
        return self._typed(Kind.WRITE, function, more)

    @overload
    def admin(self, function: F, /) -> F: ...
    @overload
    def admin(self, /, **more: Any) -> Callable[[F], F]: ...
    def admin(self, function: F | None = None, /, **more: Any) -> F | Callable[[F], F]:  # Any: as above
        """Registers a function as a tool that destroys or overrides; it is guarded, and its use is recorded."""
        return self._typed(Kind.ADMIN, function, more)

    def _typed(self, kind: Kind, function: F | None, more: Mapping[str, Any]) -> F | Callable[[F], F]:
        def register(function: F) -> F:
            require_function(function)
            self.registry.add(spec_of_function(function, kind, **more))
            return function

        return register if function is None else register(function)

    # --- the explicit form -----------------------------------------------------------------------------------------

    def add(self, spec: ToolSpec) -> ToolSpec:
        """Registers a tool made by read_tool, write_tool or admin_tool, or the author's own ToolSpec."""
        return self.registry.add(spec)

    def add_all(self, specs: Iterable[ToolSpec], handlers: Mapping[str, Callable[..., Any]]) -> None:  # Any: handlers
        """Registers definitions with a map of their handlers."""
        for spec in with_handlers(specs, handlers):
            self.registry.add(spec)

    # --- beside the tools themselves -------------------------------------------------------------------------------

    def dispatcher(
        self,
        name: str,
        description: str,
        *,
        actions: Names = (),
        resources: Mapping[str, Names] | None = None,
        title: str = "",
        hides_tools: bool = False,
    ) -> ToolSpec:
        """Adds one tool in front of many; see `ToolRegistry.dispatcher`. Raises: ContractError."""
        return self.registry.dispatcher(
            name, description, actions=actions, resources=resources, title=title, hides_tools=hides_tools
        )

    def renamed(self, old: str, *, to: str, until: date) -> None:
        """Lets the tool `to` be called by its former name `old` up to and including `until`. Raises: ContractError."""
        self.registry.renamed(old, to=to, until=until)

    def list_registered(self) -> list[ToolSpec]:
        return self.registry.list_registered()

    async def dispatch(self, name: str, arguments: Mapping[str, Any] | None = None, *, actor: Any = None) -> Answer:
        """Runs one tool in this process, exactly as for a client. Raises: UnknownTool."""
        return await self.registry.dispatch(name, arguments, actor=actor)

    # --- serving ---------------------------------------------------------------------------------------------------

    def build_server(self) -> "ToolboxServer":
        """The official SDK's server over these tools, one for all calls of this: what is added to it, such as resources
        and prompts, is served by `run` and `asgi` too. Raises: ContractError.
        """
        if self._server is None:
            from handfast.toolkit.serve.serving import build_server

            self._server = build_server(self)
        return self._server

    def asgi(self, *, state: str | None = None, **more: Any) -> "Starlette":  # Any: of the SDK's streamable_http_app
        """An ASGI app that serves `/mcp`. Raises: ContractError."""
        self.recording.folder = state or self.recording.folder
        return self.build_server().streamable_http_app(**more)

    def run(self, *, state: str | None = None) -> None:
        """Serves over stdin and stdout until the client leaves."""
        from handfast.toolkit.serve.serving import run_stdio

        self.recording.folder = state or self.recording.folder
        run_stdio(self.build_server())
