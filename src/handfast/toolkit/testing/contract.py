"""assert_contract: checks every tool of a toolbox against what it publishes, in one line of a test."""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from mcp import MCPError

from handfast.toolkit.testing.driving import Driver
from handfast.toolkit.testing.problems import Problem, report
from handfast.toolkit.testing.refusals import PROBE_ACTOR, Prober
from handfast.toolkit.testing.schema_checks import schema_problems
from handfast.toolkit.testing.session import ERAS, for_session, in_memory, run_to_end
from handfast.toolkit.testing.watch import Watch
from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.schemas import ContractError
from handfast.toolkit.writing.spec import Kind, ToolSpec

PATIENCE_S = 10.0  # agents wait longer, but a read tool with small arguments should not need that


def assert_contract(
    toolbox: Toolbox,
    *,
    examples: int = 50,
    actor: Any = None,  # Any: an Actor, or another object with an id or a name
    skip: Collection[str] = (),
    patience_s: float = PATIENCE_S,
    throwaway_app: Callable[[], Any] | None = None,  # Any: what the toolbox has as its app
) -> None:
    """Checks every schema, calls each read tool, and checks that wrong arguments do not reach handlers.

    `skip` names tools that are not to be called, because they cost money or act on other systems. With `throwaway_app`
    tools that write and admin tools are called too, each on an app that it makes. In async code, await
    `contract_problems` instead.

    Raises:
        AssertionError: with every problem, the arguments that show it and how to reproduce it.
    """
    __tracebackhide__ = True
    problems = run_to_end(
        lambda: contract_problems(
            toolbox, examples=examples, actor=actor, skip=skip, patience_s=patience_s, throwaway_app=throwaway_app
        ),
        instead="await contract_problems(…)",
    )
    if problems:
        raise AssertionError(report(toolbox.name, problems))


async def contract_problems(
    toolbox: Toolbox,
    *,
    examples: int = 50,
    actor: Any = None,  # Any: as above
    skip: Collection[str] = (),
    patience_s: float = PATIENCE_S,
    throwaway_app: Callable[[], Any] | None = None,  # Any: as above
) -> list[Problem]:
    """The same, as a list of problems. Raises: ValueError, for a name in `skip` that no tool has."""
    unknown = sorted(set(skip) - {spec.name for spec in toolbox.list_registered()})
    if unknown:
        raise ValueError(f"There is no tool {', '.join(unknown)} to skip; correct the name.")
    with _quiet():
        found = schema_problems(toolbox.registry)
        try:
            toolbox.registry.freeze()
        except ContractError as problem:
            return [*found, Problem(toolbox.name, str(problem))]
        found += await _listing_problems(toolbox)
        found += await _refusal_problems(toolbox)
        for spec in toolbox.list_registered():
            # The tools behind a dispatcher are called directly.
            is_driven = spec.kind is Kind.READ or throwaway_app is not None
            if is_driven and not spec.is_dispatcher and spec.name not in skip:
                found += await _driving_problems(toolbox, spec, actor, examples, patience_s, throwaway_app)
        return found


async def _listing_problems(toolbox: Toolbox) -> list[Problem]:
    """Checks that clients of both eras can list the tools and receive what is published."""
    found = []
    published = {tool["name"]: (tool["inputSchema"], tool["outputSchema"]) for tool in toolbox.registry.published()}
    for era in ERAS:
        async with in_memory(toolbox, mode=era) as client:
            try:
                tools = (await client.list_tools()).tools
            except MCPError as problem:
                found.append(Problem("tools/list", f"fails for a client of the era {era}: {problem}"))
                continue
        told = {tool.name: (tool.input_schema, tool.output_schema) for tool in tools}
        names = sorted(name for name in {*told, *published} if told.get(name) != published.get(name))
        found += [Problem(name, f"reaches a client of the era {era} otherwise than it is published") for name in names]
    return found


async def _refusal_problems(toolbox: Toolbox) -> list[Problem]:
    watch = Watch(PATIENCE_S)
    held = for_session(toolbox, run_of=watch.held)
    try:
        prober = Prober(held.registry, watch)
        return [problem for spec in held.list_registered() for problem in await prober.problems(spec.name)]
    finally:
        await held.registry.close()


async def _driving_problems(
    toolbox: Toolbox,
    spec: ToolSpec,
    actor: object,
    examples: int,
    patience_s: float,
    throwaway_app: Callable[[], Any] | None,  # Any: as above
) -> list[Problem]:
    watch = Watch(patience_s)
    watched = for_session(toolbox, run_of=watch.noted)
    if throwaway_app is not None:
        watched.registry.app_state = throwaway_app()
    if actor is None and spec.kind is Kind.ADMIN:
        actor = PROBE_ACTOR  # without one nothing would run
    async with in_memory(watched, mode="2026-07-28", actor=actor) as client:
        driver = Driver(client=client, registry=watched.registry, watch=watch, examples=examples, patience_s=patience_s)
        return await driver.problems(spec.name)


@contextmanager
def _quiet() -> Iterator[None]:
    """Disables logging, because hundreds of calls fail here on purpose; the problems describe them."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
