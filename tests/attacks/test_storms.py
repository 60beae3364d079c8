"""A server that says without end that its list has changed, or that prints without end: it costs nobody else much."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attacks.test_too_much import PLACES, Place, placed
from tests.contracts.rig import HttpGateway, Json
from tests.faults.measured import resident_mb
from tests.gateway.running import TEXT, eventually, read_records, running, stdio
from tests.stubs.run import answer, tool, write_stub

ROUNDS = 150
TOOLS = 150


class Storm:
    """The stub takes over a SPEC that is written again for each round, and announces it."""

    def __init__(self, folder: Path) -> None:
        self.spec = folder / "next.json"
        self.stub = write_stub(folder, tools=tools(0), answers={"fine": answer(TEXT)}, next=str(self.spec))

    def blow(self) -> None:
        before = json.loads(self.stub.spec.read_text())
        for number in range(1, ROUNDS + 1):
            fresh = self.spec.with_suffix(".fresh")
            fresh.write_text(json.dumps({**before, "tools": json.dumps(tools(number))}))
            fresh.replace(self.spec)
            self.stub.take_next()
            self._wait_until_taken(number)

    def _wait_until_taken(self, number: int) -> None:
        """Signals that come too fast become one."""
        self.stub.journal.wait_for(lambda journal: len(journal.events("took")) >= number)

    def lists(self) -> int:
        return self.stub.journal.methods().count("tools/list")


def tools(number: int) -> Json:
    return [tool("fine")] + [tool(f"t{number}-{index}") for index in range(TOOLS)]


@pytest.mark.requirement("F6")
@pytest.mark.parametrize("place", PLACES)
def test_a_storm_costs_a_few_lists_and_a_few_records(place: Place, tmp_path: Path) -> None:
    storm = Storm(tmp_path)
    with placed(place, storm.stub, tmp_path, is_modern=False) as here, ExitStack() as stack:
        if isinstance(here.gateway, HttpGateway):
            stack.enter_context(here.gateway.listening())
        here.gateway.list_tools()
        assert here.call("fine").text == "fine"
        storm.blow()
        assert here.call("fine").text == "fine"
        state = here.gateway.state
        # The last change is learnt, however long the server rests by then.
        eventually(
            lambda: read_records(state, rule="contract.added", tool=f"t{ROUNDS}-0"),
            "the last list is learnt",
            seconds=40,
        )
        # Three of the opening and the client, one at once, then after 1, 2, 4, 8 and 16 seconds at the most.
        assert storm.lists() <= 9
        assert len(read_records(state, type="contract_change")) <= 9 * 101


PRINTS = {
    "single letters": ["yes"],
    "words": ["yes", "DEBUG " + "x" * 74],
    "notifications": ["yes", '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'],
}


@pytest.mark.requirement("F4")
@pytest.mark.requirement("F9")
def test_servers_that_print_without_end_cost_nobody_else(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("fine")], answers={"fine": answer(TEXT)})
    printing = {name.replace(" ", "-"): {"command": line[0], "args": line[1:]} for name, line in PRINTS.items()}
    with running({"up": stdio(stub), **printing}, tmp_path, start="eager") as gateway:
        client = gateway.client()
        before = resident_mb(gateway.process.pid)
        assert [client.call("fine").text for _ in range(20)] == ["fine"] * 20
        gateway.write_settings({"mcpServers": {"up": stdio(stub)}})
        eventually(lambda: list(gateway.health()[1]["servers"]) == ["up"], "their removal", seconds=30)
        assert [client.call("fine").text for _ in range(20)] == ["fine"] * 20
        assert resident_mb(gateway.process.pid) - before < 50
        gateway.process.terminate()
        assert gateway.process.wait(20) == 0
