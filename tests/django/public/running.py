"""A project that is served, for tests to drive with the official client and to look into the tables of."""

import json
import os
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # Any: JSON, and values of columns

import httpx2
import psycopg
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.parts import FOLDER, ROOT

PYTHON = FOLDER / "django" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Served:
    url: str
    tokens: Mapping[str, str]  # one that may do all, and one that may read
    problems: list[tuple[str, str]]  # the name of each, and where
    database: str | Path  # of PostgreSQL, or a file of SQLite

    @asynccontextmanager
    async def client(self, token: str | None = "all") -> AsyncIterator[Client]:
        headers = {} if token is None else {"Authorization": f"Bearer {self.tokens[token]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client

    def count(self, table: str) -> int:
        """How many rows a table has, asked of the database itself."""
        with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(f"SELECT count(*) FROM {table}")
            return int(cursor.fetchone()[0])

    def _connect(self) -> Any:
        return sqlite3.connect(self.database) if isinstance(self.database, Path) else psycopg.connect(self.database)


@contextmanager
def running(name: str, folder: Path, postgresql: Mapping[str, str] | None = None) -> Iterator[Served]:
    """`postgresql` are the variables that lead to an empty database there."""
    # The tests of the adapter may have said in this process which project is meant.
    outside = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    environment = {
        **outside,
        **(postgresql or {}),
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "PUBLIC_FOLDER": str(folder),
        "PUBLIC_DATABASE": "postgresql" if postgresql else "sqlite",
    }
    command = [str(PYTHON), "-m", "tests.django.public.process", name]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=folder, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        said = json.loads(line)
        yield Served(
            f"http://127.0.0.1:{said['port']}/mcp/",
            said["tokens"],
            [(problem, where) for problem, where in said["problems"]],
            _conninfo(postgresql) if postgresql else folder / "db.sqlite3",
        )
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


def _conninfo(variables: Mapping[str, str]) -> str:
    return f"host={variables['PGHOST']} user={variables['PGUSER']} dbname={variables['PGDATABASE']}"
