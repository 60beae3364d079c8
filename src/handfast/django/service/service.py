"""The tools of this project as one service: made on first use, shared by every thread of the process."""

import json
import os
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from django.core.signals import setting_changed

from handfast.core.call.exchange import RecordingFailed
from handfast.core.call.strict_json import Ambiguous, decode_arguments
from handfast.django.access import ApiCaller, is_in_scope, label, may_use, usable_tools
from handfast.django.conf import AdapterSettings, read_settings
from handfast.django.discovery import Discovery, ViewTool, survey
from handfast.django.service.kept_results import DatabaseResults
from handfast.django.service.tools import build_registry
from handfast.toolkit.registry import ToolRegistry, UnknownTool
from handfast.toolkit.running import dispatch
from handfast.toolkit.running.dispatch import Answer
from handfast.toolkit.running.recording import open_recorder
from handfast.toolkit.running.slow_lanes import run_here
from handfast.toolkit.writing.actor import Actor

__all__ = ["RecordingFailed", "Service", "UnknownTool", "forget_service", "service"]


_MIRROR: Final = b"x-mcp-header"


class Service:
    """The tools of the project, to be listed and called. Discovery is late, so that views and urls of plugins count."""

    def __init__(self, settings: AdapterSettings, discovery: Discovery) -> None:
        """Raises: ImproperlyConfigured; StoreError, where calls are to be recorded and cannot be."""
        self.settings = settings
        self.problems = discovery.problems
        self.views: dict[str, ViewTool] = {tool.name: tool for tool in discovery.tools}
        self._recorder = None if settings.activity == "off" else open_recorder(settings.activity)
        self.registry: ToolRegistry = build_registry(
            discovery.tools, settings, recorder=self._recorder, results=DatabaseResults()
        )

    @cached_property
    def mirrored(self) -> dict[str, bytes]:
        """The input schemas of tools that want arguments repeated in headers, as an author's own schema may."""
        published = {entry["name"]: json.dumps(entry["inputSchema"]).encode() for entry in self.registry.published()}
        return {name: schema for name, schema in published.items() if _MIRROR in schema}

    def tools(self, caller: ApiCaller) -> list[dict[str, Any]]:  # Any: JSON
        """The tools that the caller is shown: those in the scopes of its token whose views would let it in."""
        seen = {tool.name for tool in usable_tools(caller, self.views.values(), caller.request)}
        return self.registry.published_to(seen.__contains__)

    def call(self, name: str, arguments: bytes | None, caller: ApiCaller) -> Answer:
        """Runs one tool; `arguments` are JSON text as received. Raises: UnknownTool, RecordingFailed."""
        who = label(caller)
        told = dispatch.ToolCaller(
            actor=Actor(id=who) if who else None, context=caller.request, sees=self._sight(name, caller)
        )
        return run_here(self.registry.dispatch(name, _read(arguments), caller=told))

    def _sight(self, name: str, caller: ApiCaller) -> Callable[[str], bool]:
        """Whether a tool exists for the caller: not if it is out of scope. The view itself decides in the call.

        A dispatcher names its actions, so of these only the ones that would be listed exist.
        """
        sees = is_in_scope if name in self.views else may_use
        known: dict[str, bool] = {}

        def is_seen(tool: str) -> bool:
            if tool not in known:
                view = self.views.get(tool)
                known[tool] = view is not None and sees(caller, view)
            return known[tool]

        return is_seen

    @property
    def pending(self) -> int:
        """How many records are not yet on disk."""
        return 0 if self._recorder is None else self._recorder.pending

    def close(self) -> None:
        """Writes the pending records, and ends what calls have started."""
        run_here(self.registry.close())
        if self._recorder is not None:
            self._recorder.close()


def _read(arguments: bytes | None) -> object:
    """The decoded arguments; text that two parsers could read differently stays undecoded, and is refused later."""
    if arguments is None:
        return None
    try:
        return decode_arguments(arguments)
    except Ambiguous:
        return arguments


_lock = threading.Lock()
_service: Service | None = None


def service() -> Service:
    """The service of this process. Raises: ImproperlyConfigured, StoreError; the next request tries again."""
    global _service
    if _service is None:
        with _lock:
            if _service is None:
                settings = read_settings()
                _service = Service(settings, survey())
    return _service


def forget_service() -> None:
    """Closes the service for tests, which change settings and urls; a running project does not."""
    global _service
    with _lock:
        if _service is not None:
            _service.close()
        _service = None


def _forget_after_fork() -> None:
    """Drops the service in a forked child, which lacks the recorder's thread; the parent writes pending records."""
    global _service, _lock
    _lock = threading.Lock()
    _service = None


def _on_setting(*, setting: str, **_: object) -> None:
    if setting in ("HANDFAST", "ROOT_URLCONF", "REST_FRAMEWORK"):
        forget_service()


os.register_at_fork(after_in_child=_forget_after_fork)
setting_changed.connect(_on_setting, dispatch_uid="handfast.service")
