"""A whole session end to end: in memory, over stdio and HTTP in both eras, behind the gateway, and once more."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from mcp import Client, StdioServerParameters
from PIL import Image

from darkroom.studio import open_studio
from darkroom.tools import build_tools
from handfast.activity.query import EVERYTHING
from handfast.activity.sqlite import SqliteStore
from tests.demo import HANDFAST, ROOT
from tests.examples.darkroom.session import Transcript, ask, codes, prepare, record, replay
from tests.examples.darkroom.tools.test_schemas import REQUIRED

SERVER = ROOT / "examples" / "darkroom" / "server.py"
Mode: TypeAlias = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")


@pytest.fixture
def workspace(tmp_path: Path, samples: Path) -> Path:
    prepare(tmp_path / "workspace", samples)
    return tmp_path / "workspace"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """Where another process held the session: its workspace, and the transcript in a file."""
    folder = tmp_path_factory.mktemp("first")
    prepare(folder / "workspace", samples)
    transcript = asyncio.run(held(folder / "workspace", folder / "state", "2026-07-28"))
    (folder / "transcript.json").write_text(json.dumps(transcript), "utf-8")
    return folder


@pytest.fixture
def recorded(first: Path) -> Transcript:
    transcript: Transcript = json.loads((first / "transcript.json").read_text("utf-8"))
    return transcript


def over_stdio(workspace: Path, state: Path, *before: str) -> StdioServerParameters:
    own = [sys.executable, str(SERVER), "--workspace", str(workspace)]
    command, *args = [*before, *own]
    return StdioServerParameters(command=command, args=args, env=os.environ | {"HANDFAST_STATE": str(state)})


async def held(workspace: Path, state: Path, mode: Mode, *before: str) -> Transcript:
    async with Client(over_stdio(workspace, state, *before), mode=mode) as client:
        return await record(client)


def contents(workspace: Path) -> dict[str, bytes]:
    """Every file of a workspace."""
    files = (path for path in workspace.rglob("*") if path.is_file())
    found = {path.relative_to(workspace).as_posix(): path.read_bytes() for path in files}
    assert len(found) > 30
    return found


def statuses(state: Path) -> set[tuple[str, str]]:
    store = SqliteStore.open(state)
    try:
        return {(r.record.type.value, r.record.status.value) for r in store.query(EVERYTHING)}
    finally:
        store.close()


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_the_session_uses_every_tool_and_meets_every_code_that_is_in_use(recorded: Transcript) -> None:
    assert {step["tool"] for step in recorded} == REQUIRED.keys()
    assert codes(recorded) == [
        "state_error",
        "state_error",
        "darktable_error",
        "not_found",
        "versioning_error",
        "invalid_input",
        "versioning_error",
    ]


@pytest.mark.requirement("002-1")
@pytest.mark.requirement("002-13")
def test_text_and_structured_content_say_the_same_and_pictures_come_along(recorded: Transcript) -> None:
    for step in recorded:
        text, *images = step["result"]["content"]
        assert json.loads(text["text"]) == step["result"]["structuredContent"]
        shows = step["tool"] in ("render_preview", "compare", "export_final") and not step["result"]["isError"]
        assert [block["type"] for block in images] == (["image"] if shows else [])


@pytest.mark.requirement("002-12")
@pytest.mark.requirement("002-13")
def test_a_session_in_memory_goes_as_it_does_in_a_process(workspace: Path, recorded: Transcript) -> None:
    async def session() -> Transcript:
        tools = build_tools(open_studio(workspace))
        async with Client(tools.build_server()) as client:
            return await record(client)

    assert asyncio.run(session()) == recorded


@pytest.mark.requirement("002-12")
@pytest.mark.requirement("002-13")
def test_a_transcript_replays_to_identical_answers_in_a_second_process(
    workspace: Path, tmp_path: Path, first: Path, recorded: Transcript
) -> None:
    """Whole payloads: hashes, pictures as base64, messages of failures. And the files behind them, to the byte.

    It was recorded in the modern era and is replayed in the legacy one; behind the gateway both are held once more.
    """

    async def session() -> Transcript:
        async with Client(over_stdio(workspace, tmp_path / "state"), mode="legacy") as client:
            return await replay(client, recorded)

    assert asyncio.run(session()) == recorded
    assert contents(workspace) == contents(first / "workspace")
    assert statuses(tmp_path / "state") == {("tool_call", "success"), ("tool_call", "error")}


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("mode", MODES)
def test_a_session_behind_the_gateway_is_the_same_and_nothing_is_held_against_it(
    workspace: Path, tmp_path: Path, first: Path, recorded: Transcript, mode: Mode
) -> None:
    wrap = [str(HANDFAST), "wrap", "--name", "darkroom", "--input", "strict", "--output", "strict"]
    gateway, own = tmp_path / "gateway", tmp_path / "own"
    assert asyncio.run(held(workspace, own, mode, *wrap, "--state", str(gateway), "--")) == recorded
    assert contents(workspace) == contents(first / "workspace")
    calls = {("tool_call", "success"), ("tool_call", "error")}
    assert calls <= statuses(gateway) <= calls | {("contract_change", "success"), ("server_state", "success")}
    assert statuses(own) == calls


@asynccontextmanager
async def over_http(workspace: Path, state: Path) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, str(SERVER), "--workspace", str(workspace), "--http", str(port)]
    environment = os.environ | {"HANDFAST_STATE": str(state)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)  # noqa: ASYNC220 - it starts once
    try:
        while not _listens(port):
            assert process.poll() is None
            await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        assert process.wait(timeout=20) is not None


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("mode", MODES)
def test_a_session_over_http_goes_as_it_does_over_stdio(
    workspace: Path, tmp_path: Path, recorded: Transcript, mode: Mode
) -> None:
    async def session() -> Transcript:
        async with over_http(workspace, tmp_path / "state") as url, Client(url, mode=mode) as client:
            return await record(client)

    assert asyncio.run(session()) == recorded


def test_the_first_start_fills_the_inbox_and_the_next_ones_leave_it_alone(tmp_path: Path) -> None:
    async def first() -> None:
        async with Client(over_stdio(tmp_path / "new", tmp_path / "state")) as client:
            assert not (await ask(client, "ingest", {"path": "lamp.jpg"}))["isError"]

    asyncio.run(first())
    assert sorted(path.name for path in (tmp_path / "new" / "inbox").iterdir()) == [
        "chart.png",
        "harbour.jpg",
        "lamp.jpg",
    ]
    (tmp_path / "new" / "inbox" / "lamp.jpg").unlink()

    async def second() -> None:
        async with Client(over_stdio(tmp_path / "new", tmp_path / "state")) as client:
            told = await ask(client, "get_state", {"image_id": "lamp"})
            assert told["structuredContent"]["success"]

    asyncio.run(second())
    assert len(list((tmp_path / "new" / "inbox").iterdir())) == 2


def test_a_renderer_that_is_given_no_time_is_a_darktable_error(workspace: Path, tmp_path: Path) -> None:
    server = over_stdio(workspace, tmp_path / "state")
    server.args = [*server.args, "--render-timeout", "0.001"]

    async def session() -> None:
        async with Client(server) as client:
            told = await ask(client, "ingest", {"path": "lamp.jpg"})
            error = told["structuredContent"]["error"]
            assert (error["code"], error["details"]) == ("darktable_error", {"stderr": "", "reason": "timeout"})
            assert not (await ask(client, "list_vocabulary", {}))["isError"]

    asyncio.run(session())


def test_calls_at_once_on_one_picture_are_all_in_its_history(workspace: Path) -> None:
    async def session() -> int:
        tools = build_tools(open_studio(workspace))
        async with Client(tools.build_server()) as client:
            await ask(client, "ingest", {"path": "chart.png"})
            edit = {"image_id": "chart", "primitive": "exposure", "parameters": {"ev": 1}}
            calls = [ask(client, "apply_primitive", edit | {"module_id": f"m{n}"}) for n in range(20)]
            looks = [ask(client, "render_preview", {"image_id": "chart", "max_edge": 64}) for _ in range(3)]
            answers = await asyncio.gather(*calls, *looks)
            assert [answer for answer in answers if answer["isError"]] == []
            state = await ask(client, "get_state", {"image_id": "chart"})
            return int(state["structuredContent"]["data"]["state_after"]["entry_count"])

    assert asyncio.run(session()) == 20


def test_the_export_of_the_session_is_the_picture_that_was_edited(first: Path, recorded: Transcript) -> None:
    exported = recorded[-1]["result"]["structuredContent"]["data"]
    with Image.open(first / "workspace" / exported["file"]["path"]) as picture:
        assert (picture.format, picture.size) == ("PNG", (480, 320))
    compared = next(step for step in recorded if step["tool"] == "compare")["result"]["structuredContent"]["data"]
    assert exported["snapshot"] == compared["snapshots"][0]
    assert compared["saturation"][1] == 0 < exported["saturation"]
