"""What a call through `invoke` costs beside the same view behind Django's own handler, neither with middleware.

python -m benchmarks.django_invocation [--rounds N]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import django
from django.conf import settings

MOST_ADDED = 0.05  # of what the bare view takes
ROUNDS = 30
_CALLS = 100  # in a row, before the other side has its turn


@dataclass(frozen=True, slots=True)
class Measured:
    """Microseconds of CPU for one call, in the median: behind Django's handler, and through `invoke`."""

    name: str
    handler_us: float
    invoke_us: float

    @property
    def added(self) -> float:
        return self.invoke_us / self.handler_us - 1

    def __str__(self) -> str:
        return f"{self.name:24} {self.handler_us:8.0f} µs {self.invoke_us:8.0f} µs {self.added:+8.1%}"


def start_django() -> None:
    """The project of the tests, with its tables in memory."""
    import os

    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.django.project.settings"
    django.setup()
    settings.ROOT_URLCONF = "tests.django.depot.urls"
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)


def measure(rounds: int) -> list[Measured]:
    """Both sides in turn, so that whatever else the machine does hits both."""
    from tests.django.depot.models import Crate, Depot, Tag

    depot = Depot.objects.create(name="North", slug="north")
    crate = Crate.objects.create(code="first", depot=depot)
    Tag.objects.bulk_create(Tag(name=f"tag {number}") for number in range(20))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("crates__retrieve", {"id": crate.pk}),
        ("crates__partial_update", {"id": crate.pk, "weight": "2.50"}),
        ("crates__update", {"id": crate.pk, "code": "first", "depot": depot.pk, "tags": [1, 2]}),
        ("depots__list", {"page": 1}),
        ("tags__list", {}),
        ("statuses__retrieve", {"status": "200"}),
    ]
    return [_compared(name, arguments, rounds) for name, arguments in calls]


def _compared(name: str, arguments: dict[str, Any], rounds: int) -> Measured:
    bare, through = _by_handler(name, arguments), _by_invoke(name, arguments)
    assert json.loads(bare()) == through(), name
    sides: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for side, run in zip(sides, (bare, through), strict=True):
            side.append(_timed(run))
    return Measured(name, *(statistics.median(side) for side in sides))


def _timed(run: Callable[[], Any]) -> float:
    began = time.process_time()
    for _ in range(_CALLS):
        run()
    return (time.process_time() - began) / _CALLS * 1e6


def _by_handler(name: str, arguments: dict[str, Any]) -> Callable[[], Any]:
    """As a server would: an environment, Django's handler, and the bytes of its answer."""
    from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
    from tests.django.invocation.calling import outer, tools

    from handfast.django.invocation.parts import split_arguments

    tool, handler = tools()[name], WSGIHandler()
    parts = split_arguments(tool, arguments)
    environ = {**outer().META, "REQUEST_METHOD": tool.method, "PATH_INFO": parts.target.path}
    environ |= {"QUERY_STRING": parts.query, "HTTP_ACCEPT": "application/json"}

    body = json.dumps(parts.body).encode() if parts.has_body else b""

    def run() -> Any:
        sent = {**environ, "wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        return handler.get_response(WSGIRequest(sent)).content  # type: ignore[attr-defined]  # none of them streams

    return run


def _by_invoke(name: str, arguments: dict[str, Any]) -> Callable[[], Any]:
    from tests.django.invocation.calling import outer, tools

    from handfast.django.invocation import invoke

    tool, request = tools()[name], outer()
    return lambda: invoke(tool, arguments, request)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    start_django()
    print(f"{'':24} {'handler':>11} {'invoke':>11} {'added':>8}")
    for measured in measure(parser.parse_args().rounds):
        print(measured)


if __name__ == "__main__":
    main()
