"""What all conversations share: settings, recorder, catalog, slow lane, and the call path."""

from collections.abc import Sequence
from pathlib import Path

from handfast.activity.recorder import ThreadRecorder
from handfast.activity.store import Retention, open_store, open_store_late
from handfast.catalog.contracts import ContractChange, ServerContracts
from handfast.catalog.learning import Learner
from handfast.catalog.store import open_catalog, source_of
from handfast.catalog.tasks import KeptTasks
from handfast.clock import Clock
from handfast.core.call import rules
from handfast.core.call.exchange import Exchange, RecordType, Status
from handfast.core.call.recording import Durability, OnFailure
from handfast.core.call.unjudged import Direction, unused_schema
from handfast.core.schema.compiled import SchemaBounds, UncompilableSchema
from handfast.gateway.admission.call_places import Bounds, LocalPlaces
from handfast.gateway.calls.journal import Journal
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.calls.task_results import TaskResults
from handfast.gateway.settings import Settings
from handfast.gateway.settings.blocks import Bodies
from handfast.slow_lane.client import SlowLane
from handfast.tool_call import CallPath


class Runtime:
    """Opens the state folder and ties the parts together. Raises: StoreError."""

    def __init__(self, settings: Settings, folder: Path, *, actor: str = "") -> None:
        self.settings = settings
        self.folder = folder
        self.clock = Clock()
        activity = settings.activity
        goes_on = activity.on_failure is OnFailure.CONTINUE
        self.recorder = ThreadRecorder(
            (open_store_late if goes_on else open_store)(folder, activity.store),
            on_failure=activity.on_failure,
            retention=Retention(keep_days=activity.keep_days, keep_bytes=activity.keep_bytes),
            whole_refusals=activity.whole_refusals,
        )
        self.catalog = open_catalog(folder, goes_on=goes_on)
        self.lane = SlowLane()
        self.journal = Journal(self.recorder, self.clock)
        self.path = CallPath(
            recorder=self.recorder,
            lane=self.lane,
            clock=self.clock,
            actor=actor,
            keeps_bodies=activity.bodies is Bodies.REDACTED,
            waits_for_all=activity.durability is Durability.ALL,
            waits_for_decisions=activity.durability is not Durability.NONE,
            on_uncompilable=self._diagnose_schema,
        )
        self.places = LocalPlaces(self._bounds_of, lambda: self.settings.limits.concurrent_calls)
        self._bounds: tuple[Settings, dict[str, Bounds]] = (settings, {})  # computed from these settings at first use
        self._diagnosed: set[tuple[str, str, str]] = set()

    def server_side(self, name: str, command_or_url: Sequence[str]) -> ServerSide:
        """Builds what conversations with one server share, with the contracts learnt earlier for its command or URL."""
        source = source_of(command_or_url)

        def on_change(changes: Sequence[ContractChange]) -> None:
            self.catalog.save(name, source, changes)
            self.journal.contracts_changed(name, changes)

        contracts = ServerContracts(
            self.catalog.load(name, source),
            bounds=SchemaBounds(bytes=self.settings.limits.schema_bytes),
            on_change=on_change,
            most=self.settings.limits.tools_per_server,
        )
        learner = Learner(contracts, timeout=self.settings.limits.learn_timeout_s, monotonic=self.clock.monotonic)
        tasks = TaskResults(
            name,
            path=self.path,
            journal=self.journal,
            contracts=contracts,
            policy_of=lambda tool: self.settings.policy(name, tool),
            kept=KeptTasks(self.catalog, name, source),
            clock=self.clock,
        )
        return ServerSide(
            name=name,
            path=self.path,
            journal=self.journal,
            learner=learner,
            policy_of=lambda tool: self.settings.policy(name, tool),
            now=self.clock.monotonic,
            tasks=tasks,
            memory=self.catalog.memory(name, source),
            places=self.places,
            retries_idempotent=lambda: self._retries_idempotent(name),
        )

    def _bounds_of(self, name: str) -> Bounds:
        of_settings, bounds = self._bounds
        if of_settings is not self.settings:
            bounds = {}
            self._bounds = (self.settings, bounds)
        if name not in bounds:
            limits = self.settings.limits
            server = self.settings.servers.get(name)  # a wrapped server need not be in the settings
            places = server.concurrent_calls if server is not None else None
            bounds[name] = Bounds(places or limits.calls_per_server, limits.queued_calls, limits.queue_timeout_s)
        return bounds[name]

    def _retries_idempotent(self, name: str) -> bool:
        server = self.settings.servers.get(name)
        own = server.retry_idempotent if server is not None else None
        return self.settings.limits.retry_idempotent if own is None else own

    def _diagnose_schema(self, call: Exchange, schema: UncompilableSchema, direction: Direction) -> None:
        """Tells the operator once per tool and schema, not once per call or per start."""
        key = (call.server, call.tool, schema.digest)
        if key in self._diagnosed:
            return
        self._diagnosed.add(key)
        if not self.catalog.is_news(*key):
            return
        self.journal.note(
            RecordType.DIAGNOSTIC,
            Status.WARNING,
            server=call.server,
            tool=call.tool,
            rule=rules.SCHEMA_UNCOMPILABLE,
            reason=unused_schema(schema, direction),
            details={"schema": schema.digest},
        )

    async def close(self) -> None:
        await self.lane.close()
        self.journal.close()
        self.recorder.close()
        self.catalog.close()
