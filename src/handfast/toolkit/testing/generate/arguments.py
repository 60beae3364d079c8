"""Arguments for a tool, made from the schema that it publishes: the same ones in every run."""

import json
import warnings
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

from hypothesis import given, settings

from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit.testing.generate.values import Strategy, values
from handfast.toolkit.testing.judging import is_valid

Arguments = dict[str, Any]  # Any: JSON

_SEED = 4
_BYTES = 8_192  # for one value: what Hypothesis itself takes at most
_TRIES = 5  # for each value, since some are filtered out, or were made before


class NoArguments(Exception):
    """Nothing could be made from a schema; the text says why, and what its author can do."""


def arguments_for(schema: CompiledSchema, most: int) -> list[Arguments]:
    """At most so many different ones, the simplest first; all of them meet the schema. Raises: NoArguments."""
    strategy = values(schema.content)
    if strategy is None:
        raise NoArguments(
            "no arguments can meet its input schema; look for bounds and types that contradict each other"
        )
    found: dict[str, Arguments] = {}
    with warnings.catch_warnings():
        # Odd patterns make Python's own reader of them warn, and in many test suites a warning is an error.
        warnings.simplefilter("ignore")
        for each in chain(_given(schema.content), _drawn(strategy, schema, most)):
            if isinstance(each, dict) and is_valid(schema, each):
                found.setdefault(json.dumps(each, sort_keys=True), each)
            if len(found) == most:
                break
    if not found:
        raise NoArguments(
            "no arguments could be made from its input schema, so it was not tried; "
            "give `examples` for the fields with a pattern, or for the whole"
        )
    return list(found.values())


def _given(schema: object) -> list[Any]:  # Any: JSON
    examples = schema.get("examples") if isinstance(schema, dict) else None
    return examples if isinstance(examples, list) else []


def _drawn(strategy: Strategy, schema: CompiledSchema, most: int) -> Iterator[Any]:  # Any: as above
    """As a fuzzer draws, with bytes of our own: else Hypothesis also draws from what it finds in the loaded modules."""
    found: list[Any] = []

    @settings(database=None, deadline=None)
    @given(strategy.filter(lambda value: is_valid(schema, value)))
    def draw(value: Any) -> None:  # Any: JSON
        found.append(value)

    fuzz = draw.hypothesis.fuzz_one_input  # type: ignore[attr-defined]  # given() sets it, and its type does not say so
    source = Random(_SEED)  # noqa: S311 - the same in every run, which is the point
    fuzz(bytes(_BYTES))  # all zeros: the simplest there is
    for _ in range(most * _TRIES):
        yield from found
        found.clear()
        fuzz(source.randbytes(_BYTES))
    yield from found
