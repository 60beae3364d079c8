"""One true record and one true text: for calls whose server is restarted, whose store is stuck, whose client leaves."""

from functools import partial
from pathlib import Path

import pytest

from handfast.gateway.upstreams import RESTARTED
from tests.contracts.rig import HttpGateway
from tests.gateway.bridge.asking import LEGACY, MODERN, WAYS, Way, entry_for
from tests.gateway.running import meanwhile, one_record, running
from tests.stubs.run import answer, tool, write_stub

FINE = {"content": [{"type": "text", "text": "fine"}]}


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("eras", ["legacy", "modern", "legacy-to-modern", "modern-to-legacy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", ["server", "all", "compact"])
def test_a_call_whose_server_is_restarted_by_new_settings_says_so(
    tmp_path: Path, front: str, way: Way, eras: str
) -> None:
    client_era, _, server_era = eras.partition("-to-")
    versions = MODERN if (server_era or client_era) == "modern" else LEGACY
    stub = write_stub(tmp_path, tools=[tool("slow")], answers={"slow": answer(FINE, "slow:20")}, versions=versions)
    own = {"surface": "compact"} if front == "compact" else {}
    with entry_for(stub, way) as entry:
        entry["handfast"] = own
        with running({"up": entry}, tmp_path, leaves_calls=True) as gateway:
            client = gateway.client(is_modern=client_era == "modern", opens=False)
            client.path = "/mcp" if front == "all" else "/mcp/up"
            client.open()
            with meanwhile(partial(call_slow, client, front)) as call:
                stub.journal.wait_for(lambda journal: journal.calls("slow"))
                changed = {"env": {"CHANGED": "1"}} if way == "stdio" else {"headers": {"X-Changed": "1"}}
                gateway.write_settings({"mcpServers": {"up": entry | changed}})
                text = call.result(20)
            assert text.removeprefix("up: ") == RESTARTED
            record = one_record(gateway.state, type="tool_call", tool="slow")
            assert (record.status.value, record.rule, record.reason) == ("error", "upstream.failed", RESTARTED)


def call_slow(client: HttpGateway, front: str) -> str:
    if front == "compact":
        return client.call("up", {"action": "slow", "arguments": {}}).text
    return client.call("up__slow" if front == "all" else "slow").text
