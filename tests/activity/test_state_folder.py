"""Where the state folder is, and that folder and files are their owner's alone."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from platformdirs import user_state_path

from handfast.activity.sqlite import SqliteStore
from handfast.activity.state_folder import check_readable, open_private, prepare_database, prepare_folder, state_folder
from handfast.activity.store import StoreError
from handfast.catalog.store import ContractStore

OPENERS: dict[str, Callable[[Path], object]] = {"activity.db": SqliteStore.open, "catalog.db": ContractStore}
OTHER = 65534  # nobody's
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser may give files away")


def test_the_flag_wins_then_the_environment_then_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDFAST_STATE", "/from/environment")
    assert state_folder("/from/flag") == Path("/from/flag")
    assert state_folder(None) == Path("/from/environment")
    monkeypatch.delenv("HANDFAST_STATE")
    assert state_folder(None) == user_state_path("handfast")


def test_a_tilde_means_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert state_folder("~/state") == Path("/home/ada/state")


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("S10")
def test_whatever_the_umask_what_is_made_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "made" / "on" / "the way"
    store, catalog = SqliteStore.open(folder), ContractStore(folder)
    with closing(store), closing(catalog):
        files = {path.name: mode(path) for path in folder.iterdir()}
    assert files == {f"{name}{end}": 0o600 for name in OPENERS for end in ("", "-wal", "-shm")}
    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("name", OPENERS)
def test_files_of_an_earlier_version_are_closed_to_others(tmp_path: Path, name: str) -> None:
    opened(name, tmp_path)
    left = [tmp_path / f"{name}{end}" for end in ("", "-wal", "-shm", "-journal")]
    for path in left:
        path.touch()
        path.chmod(0o666)
    bystander = tmp_path / "notes.txt"
    bystander.touch(0o644)
    opened(name, tmp_path)
    assert {mode(path) for path in left if path.exists()} == {0o600}
    assert mode(bystander) == 0o644  # what is not ours is left as it is


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("bits", [0o770, 0o720, 0o707, 0o777, 0o2770])
def test_a_folder_that_others_may_write_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, name: str, bits: int
) -> None:
    folder = tmp_path / "it's shared"
    folder.mkdir()
    folder.chmod(bits)
    text = complaint(name, folder)
    assert text.startswith(f"{folder} may be written by other users. ")
    subprocess.run(["sh", "-c", text.partition("run: ")[2]], check=True)
    opened(name, folder)


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("bits", [0o755, 0o750, 0o700])
def test_a_folder_that_others_may_only_read_is_used(tmp_path: Path, bits: int) -> None:
    tmp_path.chmod(bits)
    for name in OPENERS:
        opened(name, tmp_path)
    assert mode(tmp_path) == bits


@pytest.mark.requirement("S10")
def test_a_shared_folder_such_as_tmp_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    text = complaint("activity.db", tmp_path)
    assert text.startswith(f"{tmp_path} is shared by all users. ")
    assert "chmod" not in text
    command = text.partition("run: ")[2]
    own = subprocess.run(["sh", "-c", f"{command}; echo $HANDFAST_STATE"], capture_output=True, text=True, check=True)
    opened("activity.db", Path(own.stdout.strip()))


@needs_root
@pytest.mark.requirement("S10")
def test_a_folder_or_file_of_another_user_is_refused(tmp_path: Path) -> None:
    opened("activity.db", tmp_path)
    os.chown(tmp_path / "activity.db", OTHER, -1)
    assert "activity.db belongs to another user. " in complaint("activity.db", tmp_path)
    os.chown(tmp_path, OTHER, -1)
    assert complaint("catalog.db", tmp_path).startswith(f"{tmp_path} belongs to another user. ")


@needs_root
@pytest.mark.requirement("S10")
def test_a_link_that_another_user_made_leads_to_no_state_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(0o700)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "mine")
    opened("activity.db", link)  # one's own link is a way to say where
    os.chown(link, OTHER, -1, follow_symlinks=False)
    assert "link belongs to another user. " in complaint("activity.db", link)


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("is_there", [True, False], ids=["leads somewhere", "leads nowhere"])
def test_no_symbolic_link_is_followed(tmp_path: Path, name: str, end: str, is_there: bool) -> None:
    target = tmp_path / "elsewhere"
    if is_there:
        target.write_bytes(b"precious")
    folder = tmp_path / "state"
    prepare_folder(folder)
    (folder / f"{name}{end}").symlink_to(target)
    text = complaint(name, folder)
    assert text.startswith(f"{folder / f'{name}{end}'} is a symbolic link, which is not followed. ")
    assert target.read_bytes() == b"precious" if is_there else not target.exists()
    subprocess.run(["sh", "-c", text.partition("run: ")[2]], check=True)
    opened(name, folder)


@pytest.mark.requirement("S10")
def test_reading_follows_no_link_either(tmp_path: Path) -> None:
    opened("activity.db", tmp_path / "real")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "activity.db").symlink_to(tmp_path / "real" / "activity.db")
    with pytest.raises(StoreError, match="is a symbolic link"):
        SqliteStore.open_existing(tmp_path / "state")


def test_a_copy_that_others_may_write_can_still_be_read(tmp_path: Path) -> None:
    opened("activity.db", tmp_path)
    tmp_path.chmod(0o777)
    SqliteStore.open_existing(tmp_path).close()


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "activity.db"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as made:
            before = Path.cwd()
            os.chdir(tmp_path)  # the name of a socket is short
            made.bind(path.name)
            os.chdir(before)
    assert "activity.db is not a file. " in complaint("activity.db", tmp_path)


@pytest.mark.requirement("S10")
def test_a_private_file_is_its_owners_alone_and_follows_no_link(tmp_path: Path, umask: int) -> None:
    key = tmp_path / "key"
    with os.fdopen(open_private(key), "r+b") as file:
        file.write(b"k" * 32)
    assert (mode(key), key.read_bytes()) == (0o600, b"k" * 32)
    key.chmod(0o644)
    os.close(open_private(key, os.O_RDONLY))
    assert mode(key) == 0o600
    link = tmp_path / "link"
    link.symlink_to(key)
    with pytest.raises(StoreError, match="is a symbolic link"):
        open_private(link)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="is not a file"):
        open_private(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        open_private(tmp_path / "none", os.O_RDONLY)


def test_another_connection_of_the_process_keeps_its_locks(tmp_path: Path) -> None:
    """Closing any descriptor of a file lets go of all locks that the process has on it."""
    store = SqliteStore.open(tmp_path)
    with closing(store):
        store._connection.execute("BEGIN EXCLUSIVE")
        program = (
            "import sqlite3, sys\n"
            "try: sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN EXCLUSIVE')\n"
            "except sqlite3.OperationalError as error: print(error)"
        )
        prepare_database(tmp_path, "activity.db")
        command = [sys.executable, "-c", program, str(tmp_path / "activity.db")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "database is locked\n"


def opened(name: str, folder: Path) -> None:
    made = OPENERS[name](folder)
    assert isinstance(made, SqliteStore | ContractStore)
    made.close()


def complaint(name: str, folder: Path) -> str:
    with pytest.raises(StoreError) as caught:
        OPENERS[name](folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.requirement("S10")
def test_a_named_pipe_in_place_of_the_database_is_refused_by_readers_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "activity.db")
    with pytest.raises(StoreError, match="is not a file"):
        check_readable(tmp_path / "activity.db")


@pytest.mark.requirement("S10")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no folder here in which nothing can be made")
def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        prepare_folder(Path("/proc/handfast"))
