"""Fixtures of the gateway's tests."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.gateway.http_servers import LOOPS, Run


@pytest.fixture(params=list(LOOPS))
def run(request: pytest.FixtureRequest) -> Iterator[Run[object]]:
    """Runs a coroutine on each kind of event loop."""
    with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
        yield runner.run
