"""The project in a process of its own: python -m tests.django.endpoint.live wsgi|asgi prints its port and serves."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Literal

Way = Literal["wsgi", "asgi"]
WAYS: tuple[Way, ...] = ("wsgi", "asgi")
_ROOT = Path(__file__).parents[3]


@contextmanager
def running_project(way: Way, folder: Path) -> Iterator[str]:
    """The address of the endpoint."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.django.endpoint.live_settings",
        "HANDFAST_LIVE_FOLDER": str(folder),
    }
    command = [sys.executable, "-m", "tests.django.endpoint.live", way]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=_ROOT, text=True)
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        assert port, (folder / "log").read_text()
        yield f"http://127.0.0.1:{port}/mcp/"
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()


def _serve(way: Way) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    if way == "wsgi":
        _serve_wsgi()
    else:
        _serve_asgi()


def _say(port: int) -> None:
    print(port, flush=True)


def _serve_wsgi() -> None:
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
    server.set_app(get_wsgi_application())
    _say(server.server_port)
    server.serve_forever()


def _serve_asgi() -> None:
    import uvicorn
    from django.core.asgi import get_asgi_application

    listening = socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    _say(listening.getsockname()[1])
    config = uvicorn.Config(get_asgi_application(), lifespan="off", log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    _serve("asgi" if sys.argv[1:] == ["asgi"] else "wsgi")
