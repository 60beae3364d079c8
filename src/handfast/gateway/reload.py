"""Puts changed settings in force in a running gateway: watches the file, records the change, logs it."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from handfast.core.call import rules
from handfast.core.call.exchange import RecordType, Status
from handfast.core.words.redaction import scrub_sentence
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import Settings, SettingsError
from handfast.gateway.settings.changes import keys_that_wait
from handfast.gateway.settings.watch import SettingsWatch

_log = logging.getLogger("handfast.gateway")


@contextlib.contextmanager
def watching(
    runtime: Runtime,
    path: Path | None,
    load: Callable[[], Settings],
    *,
    on_change: Callable[[Settings, Settings], None] | None = None,
    reloads_on_hangup: bool = False,
) -> Iterator[None]:
    """Follows the settings file for the length of the block; new settings are swapped in whole or refused whole."""

    def take(old: Settings, new: Settings) -> None:
        runtime.settings = new
        if on_change is not None:
            on_change(old, new)
        reason = "New settings are in force."
        if waiting := keys_that_wait(old, new):
            reason = f"{reason} Only from the next start: {', '.join(waiting)}."
        runtime.journal.note(RecordType.SETTINGS_CHANGE, Status.SUCCESS, rule=rules.SETTINGS_CHANGED, reason=reason)
        _log.warning("%s", reason)

    def refuse(error: SettingsError) -> None:
        reason = f"Changed settings were refused and the old ones kept: {error}"
        runtime.journal.note(RecordType.SETTINGS_CHANGE, Status.ERROR, rule=rules.SETTINGS_REFUSED, reason=reason)
        _log.error("changed settings were refused, the old ones stay: %s", scrub_sentence(str(error)))

    if path is None:
        yield
        return
    watch = SettingsWatch(path, runtime.settings, load=load, on_change=take, on_refused=refuse)
    if reloads_on_hangup and hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, watch.reload_now)
    task = asyncio.create_task(watch.run())
    try:
        yield
    finally:
        task.cancel()
