"""What a call through the Django adapter costs beside the bare view: the same handler, caller, table and answer.

python -m benchmarks.django_calls [--rounds N] [--calls N] [--write]
"""

import argparse
import io
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.marked_block import write_block

MOST_ADDED = 0.20  # of what the bare view takes
ROUNDS = 20
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- django:begin -->", "<!-- django:end -->")
_WARM_UP = 5
_PAUSE_S = 0.15  # longer than records are gathered
CALLS = 25  # in a row, before the other side has its turn
_EXAMPLE = ROOT / "examples" / "contacts"

Call = Callable[[], None]
Pairs = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of CPU for one call of the bare view, and what share of it the tool adds, recorded and not.

    All in the median; a share is taken within a round, so that what slows the machine slows both sides of it.
    """

    name: str
    bare_ms: float
    unrecorded: float
    recorded: float

    def row(self) -> str:
        return f"| {self.name} | {self.bare_ms:.2f} ms | {self.unrecorded:+.0%} | {self.recorded:+.0%} |"


def start_django(state: Path) -> None:
    """The example's own project with tables in a folder of their own, and a caller who is known on both ways."""
    sys.path.insert(0, str(_EXAMPLE))
    os.environ.update(CONTACTS_STATE=str(state), DJANGO_SETTINGS_MODULE="addressbook.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS = ["localhost"]
    settings.DATABASES["default"]["CONN_MAX_AGE"] = None
    logging.disable(logging.WARNING)
    call_command("migrate", verbosity=0)
    _know_agents()


def _know_agents() -> None:
    """The bare views know the caller by the same token, so that both ways pay for the same lookup."""
    from rest_framework.authentication import BaseAuthentication
    from rest_framework.views import APIView

    from handfast.django.access import tokens

    class ByAgentToken(BaseAuthentication):
        def authenticate(self, request: Any) -> tuple[Any, Any]:  # Any: as REST framework has them
            token = tokens.find(request.META["HTTP_AUTHORIZATION"].partition(" ")[2])
            assert token is not None
            return token.user, token

    pending: list[type[Any]] = [APIView]
    while pending:
        view = pending.pop()
        view.authentication_classes = [ByAgentToken]
        pending.extend(view.__subclasses__())


class Callers:
    """The two ways to one view, through Django's own handler with the project's middleware."""

    def __init__(self) -> None:
        from django.contrib.auth.models import User
        from django.core.handlers.wsgi import WSGIHandler

        from handfast.django.access import issue

        user = User.objects.create_superuser("bench")
        self._token = issue(user, name="bench", scopes="*")[1]
        self._handle = WSGIHandler()
        self._number = 0

    def fresh(self) -> str:
        self._number += 1
        return f"{self._number}-{time.time_ns()}@bench.example"

    def bare(self, method: str, path: str, body: object = None) -> Any:  # Any: JSON
        return json.loads(self._sent(method, path, b"" if body is None else json.dumps(body).encode()))

    def tool(self, name: str, arguments: dict[str, Any]) -> None:  # Any: as above
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = json.loads(self._sent("POST", "/mcp/", json.dumps(message).encode()))
        assert not answer["result"]["isError"], answer

    def _sent(self, method: str, path: str, body: bytes) -> bytes:
        path, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_HOST": "localhost",
            "HTTP_ACCEPT": "application/json, text/event-stream",
            "HTTP_AUTHORIZATION": f"Bearer {self._token}",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        statuses: list[str] = []

        def start(status: str, *_: object) -> Callable[[bytes], object]:
            statuses.append(status)
            return statuses.append  # type: ignore[return-value]  # nobody writes in this way any more

        response = self._handle(environ, start)
        answer = b"".join(response)
        response.close()
        assert statuses[0].startswith("2"), (statuses, answer)
        return answer


def cases(callers: Callers) -> list[tuple[str, Call, Call]]:
    """Each with the bare view and the tool."""

    def fields() -> dict[str, str]:
        return {"email": callers.fresh(), "first_name": "Ada", "last_name": "L", "notes": "From the benchmark."}

    made = [callers.bare("POST", "/api/v1/contacts/", fields()) for _ in range(30)]
    one = made[0]["id"]
    return [
        (
            "create one",
            lambda: callers.bare("POST", "/api/v1/contacts/", fields()),
            lambda: callers.tool("contacts__create", fields()),
        ),
        (
            "read one",
            lambda: callers.bare("GET", f"/api/v1/contacts/{one}/"),
            lambda: callers.tool("contacts__retrieve", {"id": one}),
        ),
        (
            "change one",
            lambda: callers.bare("PATCH", f"/api/v1/contacts/{one}/", {"notes": callers.fresh()}),
            lambda: callers.tool("contacts__partial_update", {"id": one, "notes": callers.fresh()}),
        ),
        (
            "list 25",
            lambda: callers.bare("GET", "/api/v1/contacts/?page_size=25"),
            lambda: callers.tool("contacts__list", {"page_size": 25}),
        ),
    ]


def measure(rounds: int, calls: int, state: Path) -> list[Measured]:
    """All ways in turn, so that whatever else the machine does hits all of them."""
    from django.conf import settings

    from handfast.django.service.service import forget_service, service

    found = cases(Callers())
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}  # the bare view and the tool, round by round
    for number in range(rounds + 1):  # the first one warms up
        for folder in ("off", str(state / "activity")):
            settings.HANDFAST = {**getattr(settings, "HANDFAST", {}), "ACTIVITY": folder}
            _forget_settings()
            forget_service()
            service()
            for name, bare, tool in found:
                ways = [bare, tool] if number % 2 else [tool, bare]
                taken = {call: _milliseconds(call, calls) for call in ways}
                if number:
                    pairs.setdefault((name, folder), []).append((taken[bare], taken[tool]))
    forget_service()
    return [
        _measured(name, *(pairs[name, folder] for folder in ("off", str(state / "activity")))) for name, _, _ in found
    ]


def _milliseconds(call: Call, calls: int) -> float:
    for _ in range(min(_WARM_UP, calls)):
        call()
    _settle()
    before = time.process_time()
    for _ in range(calls):
        call()
    _settle()
    return (time.process_time() - before) / calls * 1000


def _measured(name: str, unrecorded: Pairs, recorded: Pairs) -> Measured:
    bare = statistics.median(each for each, _ in [*unrecorded, *recorded])
    shares = [statistics.median(tool / view - 1 for view, tool in pairs) for pairs in (unrecorded, recorded)]
    return Measured(name, bare, *shares)


def _forget_settings() -> None:
    from handfast.django.conf import forget_settings

    forget_settings(setting="HANDFAST")


def _settle() -> None:
    """Records are written by another thread a moment later; that is part of what a call costs.

    Everybody waits, also who has nothing to write: a processor that has been idle is slower for a while.
    """
    from handfast.django.service.service import service

    time.sleep(_PAUSE_S)
    while service().pending:
        time.sleep(_PAUSE_S)


def table(measured: list[Measured]) -> str:
    rows = [each.row() for each in measured]
    return "\n".join(["| call | bare view | as a tool | recorded, too |", "|---|---|---|---|", *rows])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.django_calls", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--calls", type=int, default=CALLS, help="in a row, before the other side has its turn")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start_django(Path(folder))
        measured = measure(options.rounds, options.calls, Path(folder))
    print(table(measured))
    if options.write:
        write_block(PAGE, table(measured), MARKS)
    return 0 if all(each.recorded < MOST_ADDED for each in measured) else 1


if __name__ == "__main__":
    raise SystemExit(main())
