"""The folder of handfast's state: from the flag, else HANDFAST_STATE, else the platform's; private to its owner."""

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
# Files beside an open or crashed SQLite database; SQLite gives them the database's mode.
_BESIDE: Final = ("-wal", "-shm", "-journal")


def state_folder(flag: str | None) -> Path:
    chosen = flag or os.environ.get("HANDFAST_STATE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_state_path  # only imported when no folder was chosen

    return user_state_path("handfast", appauthor=False)


def prepare_folder(folder: Path) -> None:
    """Creates the folder if it is missing, private to its owner. Raises: StoreError if other users may write in it."""
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
    """Creates a database file for SQLite if it is missing; makes it and the files beside it private.

    Does not open an existing one, because closing it would release the locks of another connection to it.
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
    """The descriptor of a file that only its owner may use, whatever the umask. Does not follow symbolic links.

    For files of the state folder that are not databases. Raises: StoreError, OSError.
    """
    # Without O_NONBLOCK, opening a named pipe in the file's place would block forever.
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
    """Checks a file before it is read, because opening a named pipe would block. Raises: StoreError, OSError."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _linked(path)
    if not stat.S_ISREG(found.st_mode):
        raise _no_file(path)


def check_folder(folder: Path) -> None:
    """Checks that a folder's path has no file in it. Raises: StoreError."""
    for each in (folder, *folder.parents):
        if os.path.lexists(each) and not each.is_dir():
            raise _refused(each, "is not a folder", f"mv {shlex.quote(str(each))} {shlex.quote(f'{each}.aside')}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except (FileExistsError, NotADirectoryError):
        check_folder(folder)
    except FileNotFoundError:
        if folder.parent.is_dir():
            raise  # files cannot be created there, as in /proc
        _make(folder.parent)
        _make(folder)
    else:
        folder.chmod(0o700)  # the umask may have removed even the owner's rights


def _check_file(path: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _linked(path)
    if not stat.S_ISREG(found.st_mode):
        raise _no_file(path)
    if _HAS_OWNERS and found.st_uid != os.geteuid():
        raise _refused(path, "belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path))}")


def _no_file(path: Path) -> Exception:
    return _refused(path, "is not a file", f"mv {shlex.quote(str(path))} {shlex.quote(f'{path}.aside')}")


def _linked(path: Path) -> Exception:
    return _refused(path, "is a symbolic link, which is not followed", f"rm {shlex.quote(str(path))}")


def _refused(path: Path, problem: str, command: str) -> Exception:
    from handfast.activity.store import StoreError  # imported late, so that `handfast --help` does not load the store

    return StoreError(f"{path} {problem}. Choose another state folder, or run: {command}")
