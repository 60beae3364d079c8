"""Ends the child processes when the gateway is killed: a shell waits for our end, then ends what is left."""

import os
from contextlib import suppress
from typing import Final

_SHELL: Final = "/bin/sh"
# How long a server has to exit by itself after its input has ended: as long as when it is stopped.
_GRACE_SECONDS: Final = 2
# Reads "+number" and "-number" until this process is gone, for whatever reason. Then it ends whole process groups,
# because a server that npx started is a grandchild. It ignores the terminal's signals, which are for us.
_SCRIPT: Final = f"""
trap '' INT HUP TERM QUIT
live=' '
while read -r line; do
  target=${{line#?}}
  case $line in
    +*) live="$live$target " ;;
    -*) case $live in *" $target "*) live="${{live%%" $target "*}} ${{live#*" $target "}}" ;; esac ;;
  esac
done
any_left() {{ for target; do kill -s 0 -- "$target" && return; done; return 1; }}
set -- $live
for signal in TERM KILL; do
  any_left "$@" || exit
  sleep {_GRACE_SECONDS}
  for target; do kill -s "$signal" -- "$target"; done
done
"""
_watcher: int | None = None  # the pipe to the shell; -1 if it could not be started


def prepare_watch() -> None:
    """Starts the watching shell, before the first child, so that none runs unwatched for long. Raises: OSError."""
    global _watcher  # one shell for this process and all its children
    if _watcher is None:
        _watcher = _start()


def watch_child(target: int) -> None:
    """Makes this process, or with a negative number this process group, end with us."""
    _tell(f"+{target}\n")


def unwatch_child(target: int) -> None:
    """Stops watching a process or group that is gone: its number may be used again."""
    _tell(f"-{target}\n")


def has_terminal() -> bool:
    """Whether this process has a terminal that its children may use as well."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _tell(line: str) -> None:
    if _watcher is not None and _watcher >= 0:
        with suppress(OSError):  # pipe full or shell gone: it watches less, and calls go on
            os.write(_watcher, line.encode())


def _start() -> int:
    if os.name != "posix":
        return -1
    read, write = os.pipe()
    try:
        os.set_blocking(write, False)
        quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        actions = [(os.POSIX_SPAWN_DUP2, read, 0), *quiet]
        command = [_SHELL, "-c", _SCRIPT, "handfast-orphans"]
        # A session of its own, so that signals to our group or terminal do not end it before us.
        os.posix_spawn(_SHELL, command, {"PATH": "/usr/bin:/bin"}, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError):
        os.close(write)
        return -1
    finally:
        os.close(read)
    return write
