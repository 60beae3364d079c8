"""A short run of the fuzzer; `scripts/fuzz` runs it for as long as one likes, with another seed each time."""

from collections.abc import Iterator

import pytest

from tests.fuzz.fuzzing import Fuzzer, cases_of, chosen_routes, fuzzing
from tests.parts import Parts

SEED = 20_261_117
CASES = 200  # at each place of each sort: half a minute in all


@pytest.fixture(scope="module")
def fuzzer(parts: Parts) -> Iterator[Fuzzer]:
    with fuzzing() as fuzzer:
        yield fuzzer


@pytest.mark.requirement("S1")
@pytest.mark.requirement("S2")
@pytest.mark.requirement("S4")
@pytest.mark.requirement("S5")
@pytest.mark.requirement("S6")
@pytest.mark.requirement("S7")
@pytest.mark.parametrize("place", ["wrap", "mcp", "all"])
@pytest.mark.parametrize("sort", ["requests", "answers", "later"])
def test_everybody_reads_what_was_judged(fuzzer: Fuzzer, place: str, sort: str) -> None:
    cases = cases_of(sort, chosen_routes(place))
    if cases.is_empty:
        return  # at the combined endpoint every answer of a server is translated, so none comes later
    fuzzer.reports.clear()
    fuzzer.run_chunk(SEED, cases, CASES)
    if fuzzer.reports:
        pytest.fail("\n".join(map(str, fuzzer.reports)), pytrace=False)
