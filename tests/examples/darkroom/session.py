"""A whole session in the darkroom, as an agent might hold it, and its transcript."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias  # JSON, as tools answer

from mcp import Client

Json: TypeAlias = dict[str, Any]
Transcript: TypeAlias = list[Json]  # one entry per call: tool, arguments, result
Call: TypeAlias = Callable[..., Awaitable[Any]]


def prepare(workspace: Path, samples: Path) -> None:
    """An inbox with the sample pictures, and one that ends too early."""
    inbox = workspace / "inbox"
    inbox.mkdir(parents=True)
    for sample in samples.iterdir():
        (inbox / sample.name).write_bytes(sample.read_bytes())
    whole = (samples / "lamp.jpg").read_bytes()
    (inbox / "torn.jpg").write_bytes(whole[: len(whole) // 2])


async def record(client: Client) -> Transcript:
    """Hold the session, and keep every call with its whole result."""
    transcript: Transcript = []

    async def call(tool: str, **arguments: Any) -> Any:
        result = await ask(client, tool, arguments)
        transcript.append({"tool": tool, "arguments": arguments, "result": result})
        return result["structuredContent"]["data"]

    await _hold(call)
    return transcript


async def replay(client: Client, transcript: Transcript) -> Transcript:
    """Send the same calls again."""
    return [step | {"result": await ask(client, step["tool"], step["arguments"])} for step in transcript]


async def ask(client: Client, tool: str, arguments: Json) -> Json:
    """All of a result except what belongs to the connection: who the server is."""
    result = await client.call_tool(tool, arguments)
    told: Json = json.loads(result.model_dump_json(by_alias=True, exclude_none=True))
    told.pop("_meta", None)
    told.pop("resultType", None)
    return told


def codes(transcript: Transcript) -> list[str]:
    """Every code that a call of the session failed with, in order."""
    return [step["result"]["structuredContent"]["error"]["code"] for step in transcript if step["result"]["isError"]]


async def _hold(call: Call) -> None:
    await call("read_context")
    await call("list_vocabulary")
    await call("ingest", path="harbour.jpg")
    await call("get_state", image_id="harbour")
    await _edit(call)
    await _try_black_and_white(call)
    await _remember(call)
    await _go_wrong(call)
    await call("checkout", image_id="harbour", ref="v1")
    await call("export_final", image_id="harbour", format="png")


async def _edit(call: Call) -> None:
    await call("bind_layers", image_id="harbour", L1="clean_sensor", L2="look_warm_film")
    await call("apply_primitive", image_id="harbour", primitive="exposure", parameters={"ev": 0.7})
    await call("apply_primitive", image_id="harbour", primitive="grain", parameters={"strength": 0.4, "seed": 7})
    await call("render_preview", image_id="harbour", max_edge=200)
    await call("remove_module", image_id="harbour", module_id="grain")
    await call("snapshot", image_id="harbour", label="evening light — first")
    await call("tag", image_id="harbour", name="v1")


async def _try_black_and_white(call: Call) -> None:
    await call("branch", image_id="harbour", name="silver")
    await call("checkout", image_id="harbour", ref="silver")
    await call("bind_layers", image_id="harbour", L2="look_silver")
    await call("compare", image_id="harbour", left="main", right="silver", max_edge=160)
    await call("diff", image_id="harbour", left="main", right="silver")
    await call("reset", image_id="harbour")
    await call("log", image_id="harbour")


async def _remember(call: Call) -> None:
    taste = await call("propose_taste_update", category="colour", text="Warm light, never orange. ☀")
    note = await call("propose_notes_update", image_id="harbour", text="The sun belongs in the right third.")
    await call("confirm_taste_update", **taste)
    await call("confirm_notes_update", **note)
    await call("confirm_notes_update", **note)
    await call("log_vocabulary_gap", wanted="Lift the hills only.", workaround="shadows_highlights")
    await call("read_context", image_id="harbour")


async def _go_wrong(call: Call) -> None:
    await call("ingest", path="harbour.jpg")
    await call("ingest", path="torn.jpg")
    await call("render_preview", image_id="torn")
    await call("checkout", image_id="harbour", ref="nowhere")
    await call("tag", image_id="harbour", name="v1")
    await call("apply_primitive", image_id="harbour", primitive="exposure", parameters={"ev": 1, "seed": 2})
    await call("checkout", image_id="harbour", ref="baseline")
    await call("snapshot", image_id="harbour", label="nowhere to go")
