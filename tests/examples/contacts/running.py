"""The project as its users start it: `manage.py demo` on a free port, with a database of its own."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal  # Any: JSON, and values of columns

import httpx2
import psycopg

from tests.demo import ROOT

EXAMPLE: Final = ROOT / "examples" / "contacts"
TABLES: Final = (
    *("contacts_company", "contacts_tag", "contacts_contact", "contacts_contact_tags", "contacts_phonenumber"),
    *("dcim_site", "dcim_devicetype", "dcim_device"),
)
User = Literal["admin", "agent"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Project:
    """A place for the project: a state folder, and the variables that lead to its database."""

    state: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        # The tests of the adapter may have said in this process which project is meant.
        outside = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        return {**outside, "CONTACTS_STATE": str(self.state), "NO_COLOR": "1", **self.variables}

    def manage(self, *words: str, code: int = 0) -> str:
        """What a command prints; `code` is how it must end."""
        command = [sys.executable, str(EXAMPLE / "manage.py"), *words]
        done = subprocess.run(
            command, env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def rows(self, table: str) -> list[Row]:
        return self.everything(table)[table]

    def everything(self, *tables: str) -> dict[str, list[Row]]:
        """Every row of the tables, of all of them if none is named, asked of the database itself."""
        with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
            return {table: _rows(cursor, table) for table in tables or TABLES}

    def _connect(self) -> Any:  # Any: a connection of either database, as PEP 249 has them
        if "PGDATABASE" not in self.variables:
            return sqlite3.connect(self.state / "contacts.db")
        server = {"host": self.variables["PGHOST"], "user": self.variables["PGUSER"]}
        return psycopg.connect(dbname=self.variables["PGDATABASE"], **server)  # type: ignore[arg-type]  # all are text


def _rows(cursor: Any, table: str) -> list[Row]:  # Any: of either database, as PEP 249 has them
    cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, map(_comparable, row), strict=True)) for row in cursor.fetchall()]


def _comparable(value: object) -> object:
    """The same for both databases: SQLite has no type for an id of this kind, and writes it without dashes."""
    return value.hex if isinstance(value, uuid.UUID) else value


@dataclass(frozen=True, slots=True)
class Served:
    """The project, served."""

    project: Project
    process: "subprocess.Popen[str]"
    printed: str

    @property
    def url(self) -> str:
        return self._read(r"admin site  (\S+)/admin/")

    @property
    def password(self) -> str:
        return self._read(r"user admin, password (\S+)\)")

    def token(self, user: User) -> str:
        return self._read(rf"token of {user}  (\S+)")

    @property
    def snippet(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.printed[self.printed.index("{") :])
        return said

    def _read(self, pattern: str) -> str:
        found = re.search(pattern, self.printed)
        assert found is not None, self.printed
        return found[1]


@contextmanager
def browsing(served: Served) -> Iterator[httpx2.Client]:
    """Somebody who has logged in as admin, with a browser that shows the page's token wherever something changes."""
    with httpx2.Client(base_url=served.url, follow_redirects=True, timeout=30) as client:
        page = client.get("/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token is not None
        form = {"csrfmiddlewaretoken": token[1], "username": "admin", "password": served.password}
        assert "What is kept here" in client.post("/admin/login/?next=/admin/", data=form).text
        client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
        yield client


@contextmanager
def serving(project: Project) -> Iterator[Served]:
    command = [sys.executable, str(EXAMPLE / "manage.py"), "demo", "127.0.0.1:0"]
    log = (project.state / "server.log").open("w")
    with (
        log,
        subprocess.Popen(
            command, env=project.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield Served(project, process, _until_ready(process, Path(log.name)))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def _until_ready(process: "subprocess.Popen[str]", log: Path) -> str:
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if line == "}\n":  # the end of what a client's settings need
            return printed
    raise AssertionError(f"manage.py demo ended: {printed}{log.read_text()}")
