"""One place of the matrix with everything running: the scripted server of its era, handfast, a client of its era."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from tests.contracts.cases import Case, Outcome, Sent, case, unregister
from tests.contracts.matrix.client import Client
from tests.contracts.matrix.exactness import is_same_request, is_same_result
from tests.contracts.matrix.places import Place, connected
from tests.contracts.rig import Json
from tests.gateway.running import eventually, read_records
from tests.stubs.run import Stub, answer, tool, write_stub

_cases: list[Case] = []


def matrix_case(*args: Json, **more: Json) -> Case:
    """A case as elsewhere, for the run of the matrix alone."""
    (made,) = unregister(case(*args, **more))
    _cases.append(made)
    return made


class PlaceOutcome(Outcome):
    """What became of a case at one place; `passed` allows what a bridge must change, and nothing else."""

    place: Place

    def passed(self) -> bool:
        ((sent, got),) = self.sent
        (arrived,) = self.reached
        assert is_same_request(self.place, sent, arrived)
        return is_same_result(self.place, got, in_era(self.place, str(self.case.answer["result"])))


@dataclass(slots=True)
class Stage:
    place: Place
    stub: Stub
    client: Client
    state: Path

    def run(self, of: Case, *, meta: Json = None) -> PlaceOutcome:
        """Make the case's one call, and wait for its record."""
        (arguments,) = of.calls
        assert arguments is not None
        asked = self.client.begin_call(of.tool, arguments, meta=meta)
        return self.outcome(of, Sent(asked.message, asked.answer()))

    def outcome(self, of: Case, sent: Sent) -> PlaceOutcome:
        made = PlaceOutcome(
            of, "wrap", self.place.client == "modern", [sent], self.stub.journal.calls(of.tool), self.records(of.tool)
        )
        made.place = self.place
        return made

    def records(self, name: str) -> list[Json]:
        """Everything about a tool, once all of its calls are on record; a call's decisions are there before it."""

        def look() -> list[Json]:
            found = [structs.asdict(record) for record in read_records(self.state, tool=name)]
            calls = [record for record in found if record["type"] == "tool_call"]
            is_complete = len(calls) >= self.client.sent[name]
            return [record for record in found if record["type"] != "contract_change"] if is_complete else []

        return eventually(look, f"{self.client.sent[name]} calls of {name} on record")


def in_era(place: Place, result: str, *more: str) -> str:
    """A result as a server of the place's era writes it."""
    if place.server == "legacy":
        return result
    return result[:-1] + "".join(f",{member}" for member in ('"resultType":"complete"', *more)) + "}"


@contextmanager
def staged(place: Place, folder: Path, *, methods: Mapping[str, str], **more: Json) -> Iterator[Stage]:
    """`methods` are the results of requests that are no calls; `more` are further keys of the stub's script."""
    script: Json = {
        "answers": {each.tool: _scripted(place, each.answer) for each in _cases},
        "methods": {method: answer(in_era(place, result, *_cached(method))) for method, result in methods.items()},
        "versions": place.versions,
        "journal": str(folder / "stub.journal"),
        **more,
    }
    later = write_stub(folder, name="later", tools=_tools(is_later=True), **script)
    stub = write_stub(folder, tools=_tools(is_later=False), next=str(later.spec), **script)
    own = {"tools": {each.tool: each.policy for each in _cases if each.policy}}
    with connected(place, stub, folder, own) as client:
        yield Stage(place, stub, client, folder / "state")


def _scripted(place: Place, scripted: Mapping[str, object]) -> Mapping[str, object]:
    if "result" not in scripted:
        return scripted
    return {**scripted, "result": in_era(place, str(scripted["result"]))}


def _cached(method: str) -> tuple[str, ...]:
    return () if method in ("prompts/get", "logging/setLevel") else ('"ttlMs":0', '"cacheScope":"private"')


def _tools(*, is_later: bool) -> str:
    listed = [tool(each.tool, each.input_schema, each.output_schema) for each in _cases if each.is_listed]
    if is_later:
        for each in listed:
            each["inputSchema"] = LATER.get(str(each["name"]), each["inputSchema"])
    return json.dumps(listed)


LATER: dict[str, Json] = {}  # input schemas that the server has from its announcement on
