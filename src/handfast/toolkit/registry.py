"""ToolRegistry: every tool of one server, and `dispatch`, the only function that runs them."""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from datetime import date
from typing import Any, NoReturn

from handfast.core.answers.codes import CodeBook, DeclaredCode
from handfast.core.answers.envelopes import Envelope, envelope_schema, is_object_schema
from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import make_failure
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.call.exchange import Recorder
from handfast.core.call.policy import ToolPolicy
from handfast.core.call.protocol_arguments import PROTOCOL_ARGUMENTS
from handfast.core.call.undeclared import read_tree
from handfast.core.schema.compiled import DEFAULT_BOUNDS, CompiledSchema, UncompilableSchema
from handfast.slow_lane.client import find_refusals
from handfast.toolkit.offering.dispatcher_tools import DispatcherTool, Names, dispatcher_spec, name_actions
from handfast.toolkit.offering.protocol_calls import call_with_wishes
from handfast.toolkit.offering.published import is_list_of, list_input, list_output, published
from handfast.toolkit.offering.renamed import Renamed, Today, today_utc
from handfast.toolkit.running.arguments_model import note_silent_validators
from handfast.toolkit.running.call_result import no_such_tool
from handfast.toolkit.running.dispatch import STRICT, Answer, Dispatcher, RegisteredTool, ToolCaller, text_of
from handfast.toolkit.running.kept_results import MemoryResults, ResultStore
from handfast.toolkit.running.large_results import LargeResults
from handfast.toolkit.running.outcome_counts import OutcomeCounts
from handfast.toolkit.running.piece_form import PIECE_BYTES, PieceForm, continuing_input, published_data, require_pieces
from handfast.toolkit.running.recording import call_path
from handfast.toolkit.running.slow_lanes import LaneInThread, LaneOfLoop
from handfast.toolkit.running.unrun import record_refused_request, record_unlisted, refuse_call
from handfast.toolkit.writing.actor import label_of
from handfast.toolkit.writing.builders import with_handler
from handfast.toolkit.writing.schemas import ContractError, UnusableSchema
from handfast.toolkit.writing.spec import Kind, Run, ToolSpec, require_name, require_seconds, require_sound

CALL_TIMEOUT_S = 120.0  # long enough for a render or a report; a tool that needs more sets its own
_NOBODY = ToolCaller()


class UnknownTool(LookupError):
    """No tool has this name."""


class ToolRegistry:
    """The tools of one server. The set is fixed once the first tool is served or dispatched."""

    def __init__(
        self,
        name: str,
        *,
        envelope: Envelope | str = Envelope.PLAIN,
        codes: Iterable[DeclaredCode | str] = (),
        app_state: Any = None,  # Any: whatever the tools need
        recorder: Recorder | None = None,
        timeout_s: float | None = CALL_TIMEOUT_S,
        policy: ToolPolicy = STRICT,
        in_threads: bool = False,
        in_pieces: bool = False,
        piece_bytes: int = PIECE_BYTES,
        results: ResultStore | None = None,
        today: Today = today_utc,
    ) -> None:
        """`timeout_s` None: calls have no time limit. `policy` sets how strictly every tool is held to its contract;
        with STRICT, the default, input schemas must not be open. `in_threads`: calls come from threads without an event
        loop, by `slow_lanes.run_here`.

        `in_pieces` and `piece_bytes` are defaults for tools that do not set them; `results` keeps the other pieces.
        `today` gives the date that ends old names."""
        self.name = name
        self.envelope = Envelope(envelope)
        self.codes = CodeBook(codes)
        self.app_state = app_state
        self.outcomes = OutcomeCounts()
        if timeout_s is not None:
            require_seconds(timeout_s, name)
        self._timeout_s = timeout_s
        self._policy = policy
        self._recorder = recorder
        self._in_pieces = in_pieces
        self._piece_bytes = piece_bytes
        self._large = LargeResults(MemoryResults() if results is None else results)
        self._today = today
        self._tools: dict[str, RegisteredTool] = {}
        self._dispatchers: dict[str, DispatcherTool] = {}
        self._renamed: dict[str, Renamed] = {}
        self._listing: tuple[date, list[dict[str, Any]]] | None = None  # Any: JSON; made again when a day has passed
        self._in_threads = in_threads
        self._lane = self._new_lane()
        self._is_frozen = False
        self._dispatcher: Dispatcher | None = None

    def _new_lane(self) -> LaneOfLoop | LaneInThread:
        return LaneInThread() if self._in_threads else LaneOfLoop()

    # --- building --------------------------------------------------------------------------------------------------

    def add(self, spec: ToolSpec) -> ToolSpec:
        """Adds a tool. Raises: ContractError, for a name that is taken, an unsound tool, or after serving began."""
        if spec.is_dispatcher:
            raise ContractError(f"'{spec.name}' would have no actions; make it with dispatcher() instead.")
        return self._enter(spec)

    def _enter(self, spec: ToolSpec) -> ToolSpec:
        self._require_free(spec.name)
        if spec.run is None and not spec.is_dispatcher:
            spec = with_handler(spec, spec.handler)
        require_sound(spec, may_be_open=self._takes_undeclared)
        tool = self._registered(spec)
        for side, schema in _schemas_of(tool):
            if isinstance(schema, UncompilableSchema):
                raise _unusable(tool, side, schema.reason)
        self._tools[spec.name] = tool
        return spec

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
        """Adds one tool in front of registered others: `{"action": …, "arguments": {…}}`.

        `actions` maps names of actions to names of tools, or lists tools whose names are the actions; `resources` has
        such a map for each resource. `hides_tools`: the tools are no longer listed themselves. Raises: ContractError.
        """
        named = name_actions(name, actions, resources or {})
        for tool in named.values():
            self._require_tool(tool, name)
        known = {action: self._tools[tool] for action, tool in named.items()}
        spec = self._enter(dispatcher_spec(name, description, known, envelope=self.envelope, title=title))
        self._dispatchers[name] = DispatcherTool(tool=self._tools[name], actions=known, description=description)
        if hides_tools:
            for hidden in known.values():
                self._tools[hidden.spec.name] = replace(hidden, spec=replace(hidden.spec, is_listed=False))
        return spec

    def renamed(self, old: str, *, to: str, until: date) -> None:
        """Lets the tool `to` be called by its former name `old` up to and including the day `until`, in UTC.
        Raises: ContractError."""
        self._require_free(old)
        require_name(old)
        self._require_tool(to, old)
        self._renamed[old] = Renamed(name=old, tool=self._tools[to], until=until)

    def _require_free(self, name: str) -> None:
        if self._is_frozen:
            raise ContractError(f"'{name}' comes too late: the tools are served already. Register it before.")
        if name in self._tools or name in self._renamed:
            raise ContractError(f"There is a tool '{name}' already; rename one of the two.")

    def _require_tool(self, name: str, by: str) -> None:
        if name not in self._tools:
            raise ContractError(f"'{by}' names a tool '{name}', which is not there. Register it before, or correct it.")

    def _registered(self, spec: ToolSpec) -> RegisteredTool:
        if spec.args_model is not None:
            note_silent_validators(spec.args_model)
        contract, wraps = self._contract(spec, spec.input_schema, spec.output_schema)
        is_in_pieces = self._in_pieces if spec.in_pieces is None else spec.in_pieces
        pieces = self._piece_form(spec) if is_in_pieces and not spec.is_dispatcher else None
        tree = read_tree(dict(spec.input_schema)) if self._takes_undeclared and not spec.is_dispatcher else None
        listed = None if spec.run_list is None else self._listed(spec)
        return RegisteredTool(spec, contract, wraps, pieces, tree, listed)

    @property
    def _takes_undeclared(self) -> bool:
        return self._policy is not STRICT

    def _listed(self, spec: ToolSpec) -> RegisteredTool:
        """The tool's form for lists of objects. Raises: ContractError."""
        if spec.args_model is not None or (self._in_pieces if spec.in_pieces is None else spec.in_pieces):
            raise ContractError(f"'{spec.name}' takes lists, so it can have neither an args_model nor in_pieces.")
        several = replace(
            spec,
            input_schema=list_input(spec.input_schema),
            output_schema=list_output(spec.output_schema),
            run=spec.run_list,
            run_list=None,
        )
        return self._registered(several)

    def _contract(
        self, spec: ToolSpec, input_schema: Mapping[str, Any], data: Mapping[str, Any] | None
    ) -> tuple[CompiledContract, bool]:
        schema, wraps = envelope_schema(self.envelope, data, self.codes)
        contract = ToolContract(
            spec.name, _text(input_schema), _text(schema), _text(spec.annotations), spec.description
        )
        return CompiledContract(contract, DEFAULT_BOUNDS), wraps

    def _piece_form(self, spec: ToolSpec) -> PieceForm:
        most = self._piece_bytes if spec.piece_bytes is None else spec.piece_bytes
        require_pieces(spec, most)
        data, is_list, keys = published_data(spec.output_schema, spec.name, spec.items_key)
        schema = continuing_input(spec.input_schema)
        contract, wraps = self._contract(spec, schema, data)
        # The tool does not run again: its kept result is looked up, for its owner only.
        reads = replace(spec, kind=Kind.READ, input_schema=schema, args_model=None, returns=None)
        continuing = RegisteredTool(replace(reads, run=self._large.run_next), contract, wraps)
        is_object = is_object_schema(spec.output_schema or {})
        return PieceForm(most, is_list, is_object, keys, spec.items_key, continuing)

    @property
    def has_recorder(self) -> bool:
        return self._recorder is not None

    def record_with(self, recorder: Recorder | None) -> None:
        """Sets the recorder for calls from now on; None records nothing."""
        self._recorder = recorder
        self._dispatcher = None

    def freeze(self) -> Dispatcher:
        """Fixes the set of tools; the first call and every server do this. Raises: ContractError."""
        if not self._is_frozen:
            self._require_usable()
            self._is_frozen = True
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(
                server=self.name,
                path=call_path(self._recorder, self._lane),
                codes=self.codes,
                envelope=self.envelope,
                counts=self.outcomes,
                timeout_s=self._timeout_s,
                large=self._large,
                policy=self._policy,
                app=self.app_state,
            )
        return self._dispatcher

    def _require_usable(self) -> None:
        """Checks schemas that are too heavy to compile here in the slow lane's worker. Raises: ContractError."""
        heavy = {
            schema.digest: (schema, tool, side)
            for tool in self._tools.values()
            for side, schema in _schemas_of(tool)
            if isinstance(schema, CompiledSchema) and schema.validator is None
        }
        for refused, reason in find_refusals([schema for schema, _, _ in heavy.values()]):
            _, tool, side = heavy[refused.digest]
            raise _unusable(tool, side, reason)

    def apart(self, run_of: Callable[[ToolSpec], Run] | None = None) -> "ToolRegistry":
        """A copy for a session that ends before this registry does; `run_of` gives other functions to run the tools.

        Raises: ContractError.
        """
        self.freeze()
        other = copy(self)
        other._lane, other._dispatcher = other._new_lane(), None  # these end with the session
        if run_of is not None:
            runs = {name: run_of(tool.spec) for name, tool in self._tools.items() if not tool.spec.is_dispatcher}
            specs = {name: replace(self._tools[name].spec, run=run) for name, run in runs.items()}
            changed = {name: replace(self._tools[name], spec=spec) for name, spec in specs.items()}
            other._tools = {**self._tools, **changed}
        return other

    # --- what is there ---------------------------------------------------------------------------------------------

    def list_registered(self) -> list[ToolSpec]:
        """Every tool, in the order of names."""
        return [self._tools[name].spec for name in sorted(self._tools)]

    def registered(self, name: str) -> RegisteredTool:
        """The tool of this name. Raises: UnknownTool."""
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownTool(name) from None

    def published(self) -> list[dict[str, Any]]:
        """The current entries of `tools/list`, in the order of names."""
        today = self._today() if self._renamed else date.min
        if self._listing is None or self._listing[0] != today or not self._is_frozen:
            listed = [tool for tool in self._tools.values() if tool.spec.is_listed]
            known = {tool.spec.name for tool in listed}
            old = [each for each in self._renamed.values() if each.new_name in known and not each.is_over(today)]
            listed += [each.under_old_name for each in old]
            self._listing = (today, [published(tool) for tool in sorted(listed, key=lambda tool: tool.spec.name)])
        return self._listing[1]

    def published_to(self, sees: Callable[[str], bool]) -> list[dict[str, Any]]:
        """The same for a caller that does not see every tool; hidden tools are not named in descriptions either."""
        listed = [entry for entry in self.published() if self._is_seen(entry["name"], sees)]
        return [self._narrowed(entry, sees) for entry in listed]

    def _narrowed(self, entry: dict[str, Any], sees: Callable[[str], bool]) -> dict[str, Any]:
        behind = self._dispatchers.get(entry["name"])
        if behind is None or all(sees(tool.spec.name) for tool in behind.actions.values()):
            return entry
        return {**entry, **behind.for_caller(sees).about_actions()}

    async def close(self) -> None:
        """Ends the slow lane that calls have started."""
        await self._lane.close()

    # --- running ---------------------------------------------------------------------------------------------------

    async def dispatch(
        self, name: str, arguments: object = None, *, actor: Any = None, caller: ToolCaller | None = None
    ) -> Answer:
        """Runs one tool as a client would. Raises: UnknownTool."""
        dispatcher = self._dispatcher or self.freeze()
        if caller is None:
            caller = _NOBODY if actor is None else ToolCaller(actor=actor)
        if caller.sees is not None and not self._is_seen(name, caller.sees):
            await self._refuse_unlisted(name, arguments, caller, dispatcher)
        tool = self._tools.get(name)
        if tool is None:
            return await self._by_old_name(name, arguments, caller, dispatcher)
        return await self._call(tool, arguments, caller, dispatcher)

    async def refuse(self, name: str, arguments: object, caller: ToolCaller, *, rule: str, text: str) -> Answer:
        """Put a call on record that goes no further. Raises: UnknownTool, RecordingFailed."""
        dispatcher = self._dispatcher or self.freeze()
        told = make_failure(ErrorCode.INVALID_INPUT, text, self.codes)
        return await refuse_call(dispatcher, self.registered(name), arguments, caller, told=told, rule=rule)

    def record_refused_request(self, rule: str, text: str, *, actor: Any = None) -> None:  # Any: as of ToolCaller
        """Put a request on record from which no call could be read. Raises: RecordingFailed."""
        if self._recorder is not None:
            caller = Caller(actor=label_of(actor))
            record_refused_request(self._recorder, server=self.name, caller=caller, rule=rule, text=text)

    async def _refuse_unlisted(
        self, name: str, arguments: object, caller: ToolCaller, dispatcher: Dispatcher
    ) -> NoReturn:
        """Records the call. Raises: UnknownTool, RecordingFailed."""
        await record_unlisted(
            dispatcher.path,
            server=dispatcher.server,
            tool=name,
            arguments=text_of(arguments),
            caller=Caller(actor=label_of(caller.actor)),
            policy=dispatcher.policy,
            text=no_such_tool(name),
        )
        raise UnknownTool(name)

    def _is_seen(self, name: str, sees: Callable[[str], bool]) -> bool:
        """Whether the caller sees a tool; it sees a dispatcher if it sees one of its actions."""
        behind = self._dispatchers.get(name)
        if behind is None:
            return sees(name)
        return any(sees(tool.spec.name) for tool in behind.actions.values())

    def _call(
        self, tool: RegisteredTool, arguments: object, caller: ToolCaller, dispatcher: Dispatcher, called_as: str = ""
    ) -> Awaitable[Answer]:
        if tool.spec.is_dispatcher:
            return self._dispatchers[tool.spec.name].call(arguments, caller, dispatcher, self._call_action)
        if isinstance(arguments, dict) and not PROTOCOL_ARGUMENTS.isdisjoint(arguments):
            return call_with_wishes(dispatcher, tool, arguments, caller, called_as=called_as)
        if tool.listed is not None and is_list_of(arguments, tool.spec.input_schema):
            tool = tool.listed
        return dispatcher.dispatch(tool, arguments, caller, called_as=called_as)

    async def _call_action(self, name: str, arguments: Any, caller: ToolCaller) -> Answer:  # Any: JSON
        return await self.dispatch(name, arguments, caller=caller)

    async def _by_old_name(self, name: str, arguments: object, caller: ToolCaller, dispatcher: Dispatcher) -> Answer:
        old = self._renamed.get(name)
        if old is None:
            await self._refuse_unlisted(name, arguments, caller, dispatcher)
        if old.is_over(self._today()):
            told = old.refusal(self.codes)
            return await refuse_call(
                dispatcher, old.under_old_name, arguments, caller, told=told, rule=rules.TOOL_RENAMED
            )
        return old.told(await self._call(self._tools[old.new_name], arguments, caller, dispatcher, called_as=name))


def _schemas_of(tool: RegisteredTool) -> Iterator[tuple[str, CompiledSchema | UncompilableSchema]]:
    """Every schema that may judge a call of the tool, each with its side."""
    contracts = [tool.contract, tool.answering, *([tool.listed.contract] if tool.listed is not None else [])]
    for contract in contracts:
        for side, schema in (("input", contract.input), ("output", contract.output)):
            if schema is not None:
                yield side, schema


def _unusable(tool: RegisteredTool, side: str, reason: str) -> UnusableSchema:
    return UnusableSchema(f"The {side} schema of '{tool.spec.name}' cannot be used: {reason} Correct the schema.")


def _text(schema: Mapping[str, Any]) -> bytes:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode()
