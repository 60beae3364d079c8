"""Where handfast keeps its state: the flag, else HANDFAST_STATE, else the platform's folder; its owner's alone."""

import errno
import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o600
_SHARED: Final = stat.S_IWGRP | stat.S_IWOTH
_HAS_OWNERS: Final = os.name == "posix"
# What SQLite keeps beside a database while it is open, and after a crash. It gives them the database's own mode.
_BESIDE: Final = ("-wal", "-shm", "-journal")


def state_folder(flag: str | None) -> Path:
    chosen = flag or os.environ.get("HANDFAST_STATE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_state_path  # only imported when nobody chose

    return user_state_path("handfast", appauthor=False)


def prepare_folder(folder: Path) -> None:
    """Make the folder where it is missing, for its owner alone. Raises: StoreError where others may write in it."""
    _make(folder)
    if not _HAS_OWNERS:
        return
    found, link = folder.stat(), folder.lstat()
    if found.st_uid != os.geteuid() or (stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid())):
        raise _refused(folder, "belongs to another user", f"chown -R {os.geteuid()} {shlex.quote(str(folder))}")
    if found.st_mode & _SHARED and found.st_mode & stat.S_ISVTX:  # such as /tmp, which must stay as it is
        own = shlex.quote(str(folder / "handfast"))
        raise _refused(folder, "is shared by all users", f"mkdir -m 700 {own}; export HANDFAST_STATE={own}")
    if found.st_mode & _SHARED:
        raise _refused(folder, "may be written by other users", f"chmod 700 {shlex.quote(str(folder))}")


def prepare_database(folder: Path, name: str) -> Path:
    """A database file for SQLite to open, made where it is missing; it and what SQLite keeps beside it are private.

    An existing one is not opened for this: closing it again would let go of the locks of another connection to it.
    Raises: StoreError, OSError.
    """
    prepare_folder(folder)
    path = folder / name
    for each in (path, *(folder / f"{name}{end}" for end in _BESIDE)):
        try:
            found = each.lstat()
        except FileNotFoundError:
            continue
        _check_file(each, found)
        if stat.S_IMODE(found.st_mode) & ~_OWNER_ONLY:
            each.chmod(_OWNER_ONLY)
    with suppress(FileExistsError):
        os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    return path


def open_private(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """The descriptor of a file that only its owner may use, whatever the umask. No symbolic link is followed.

    For any file of the state folder that is no database. Raises: StoreError, OSError.
    """
    # Without O_NONBLOCK, opening a named pipe in its place would wait for ever.
    guards = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | guards, _OWNER_ONLY)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _linked(path) from None
        raise
    try:
        found = os.fstat(descriptor)
        _check_file(path, found)
        if _HAS_OWNERS and stat.S_IMODE(found.st_mode) != _OWNER_ONLY:
            os.fchmod(descriptor, _OWNER_ONLY)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_readable(path: Path) -> None:
    """For files that are only read: opening a named pipe would wait for ever. Raises: StoreError, OSError."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _linked(path)
    if not stat.S_ISREG(found.st_mode):
        raise _no_file(path)


def check_folder(folder: Path) -> None:
    """Raises: StoreError where something else is in the folder's place."""
    for each in (folder, *folder.parents):
        if os.path.lexists(each) and not each.is_dir():
            raise _refused(each, "is no folder", f"mv {shlex.quote(str(each))} {shlex.quote(f'{each}.aside')}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except (FileExistsError, NotADirectoryError):
        check_folder(folder)
    except FileNotFoundError:
        if folder.parent.is_dir():
            raise  # nothing can be made in there, as in /proc
        _make(folder.parent)
        _make(folder)
    else:
        folder.chmod(0o700)  # the umask may have taken even the owner's own rights


def _check_file(path: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _linked(path)
    if not stat.S_ISREG(found.st_mode):
        raise _no_file(path)
    if _HAS_OWNERS and found.st_uid != os.geteuid():
        raise _refused(path, "belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path))}")


def _no_file(path: Path) -> Exception:
    return _refused(path, "is no file", f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.aside')}")


def _linked(path: Path) -> Exception:
    return _refused(path, "is a symbolic link, which is not followed", f"rm {shlex.quote(str(path))}")


def _refused(path: Path, problem: str, command: str) -> Exception:
    from handfast.activity.store import StoreError  # here, so that `handfast --help` does not load the store

    return StoreError(f"{path} {problem}. Choose another state folder, or run: {command}")
