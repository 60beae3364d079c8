"""The real servers, and what each is asked: calls that are right, calls that fail, calls that would lose an object."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # Any: arguments are JSON

from tests.parts import Parts, Target

Call = dict[str, Any]  # Any: {"call": {"name": …, "arguments": …}}
FACTS = '{"type":"entity","name":"ada","entityType":"person","observations":["writes programs"]}\n'


def call(tool: str, **arguments: Any) -> Call:  # Any: JSON
    return {"call": {"name": tool, "arguments": arguments}}


@dataclass(frozen=True, slots=True)
class RealServer:
    """How to reach it, and its script. Whoever runs the script leaves the server as it was."""

    name: str
    target: Target  # a command line or a URL
    steady: Sequence[Call]  # right, with the same answer every time
    varying: Sequence[Call]  # right, with an answer that holds the time, the environment or the client
    failing: Sequence[Call]  # right as far as the schema says, and answered with isError
    lossy: Call  # right but for one undeclared object, which the server drops without a word
    lost: str  # the key of that object
    declared: str  # what the refusal says is declared
    is_dual: bool = False  # speaks 2026-07-28 too


def refusal(server: RealServer) -> str:
    """The text that an agent gets for the lossy call."""
    sent = server.lossy["call"]["arguments"]
    declared = [key for key in sent[server.lost] if f'"{key}"' in server.declared]
    fields = [f'"{key}"' for key in declared if key not in sent]
    cure = f"Remove '{server.lost}': none of its fields is declared."
    if declared:
        cure = f"Remove '{server.lost}': {', '.join(map(json.dumps, declared))} was sent already."
    if fields:
        cure = f"Unwrap '{server.lost}': send {', '.join(fields)} directly, not inside \"{server.lost}\"."
    return (
        f"Argument '{server.lost}' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        f"{cure}\n"
        f"Declared fields: [{server.declared}]."
    )


def real_servers(parts: Parts, folder: Path) -> Mapping[str, RealServer]:
    """All of them, each with a world of its own in the folder."""
    servers = (_memory(parts, folder), _filesystem(parts, folder), _everything(parts), _time(parts))
    return {server.name: server for server in servers}


def _memory(parts: Parts, folder: Path) -> RealServer:
    file = folder / "memory.jsonl"
    file.write_text(FACTS)
    engine = {"name": "engine", "entityType": "machine", "observations": ["has cogs"]}
    built = {"from": "ada", "to": "engine", "relationType": "programs"}
    return RealServer(
        name="memory",
        target=parts.memory(file),
        steady=[
            call("create_entities", entities=[engine]),
            call("create_relations", relations=[built]),
            call("add_observations", observations=[{"entityName": "engine", "contents": ["runs on steam"]}]),
            call("read_graph"),
            call("search_nodes", query="cogs"),
            call("open_nodes", names=["ada", "engine"]),
            call("delete_observations", deletions=[{"entityName": "engine", "observations": ["has cogs"]}]),
            call("delete_relations", relations=[built]),
            call("delete_entities", entityNames=["engine"]),
        ],
        varying=[],
        failing=[call("add_observations", observations=[{"entityName": "nobody", "contents": ["x"]}])],
        lossy=call("search_nodes", query="ada", extra={"limit": 1, "sort": "name"}),
        lost="extra",
        declared='"query"',
    )


def _filesystem(parts: Parts, folder: Path) -> RealServer:
    home = folder / "files"
    home.mkdir()
    text, picture = home / "notes.txt", home / "dot.png"
    text.write_text("one\ntwo\nthree\n")
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    moved = home / "moved.txt"
    edit = {"oldText": "two", "newText": "2"}
    return RealServer(
        name="filesystem",
        target=parts.filesystem(home),
        steady=[
            call("read_file", path=str(text), head=1),
            call("read_text_file", path=str(text), tail=2),
            call("read_media_file", path=str(picture)),
            call("read_multiple_files", paths=[str(text), str(home / "missing")]),
            call("write_file", path=str(home / "written.txt"), content="caf\u00e9 \U0001f600\n"),
            call("edit_file", path=str(text), edits=[edit], dryRun=True),
            call("create_directory", path=str(home / "sub")),
            call("list_directory", path=str(home)),
            call("list_directory_with_sizes", path=str(home), sortBy="size"),
            call("directory_tree", path=str(home), excludePatterns=["*.png"]),
            call("move_file", source=str(text), destination=str(moved)),
            call("move_file", source=str(moved), destination=str(text)),
            call("search_files", path=str(home), pattern="**/*.txt"),
            call("list_allowed_directories"),
        ],
        varying=[call("get_file_info", path=str(text))],
        failing=[
            call("read_text_file", path=str(home / "missing")),
            call("read_text_file", path=str(folder / "memory.jsonl")),
        ],
        lossy=call("write_file", path=str(home / "lost.txt"), content="x", options={"append": True}),
        lost="options",
        declared='"path", "content"',
    )


def _everything(parts: Parts) -> RealServer:
    return RealServer(
        name="everything",
        target=parts.everything,
        steady=[
            call("echo", message="caf\u00e9 \U0001f600 \u2028"),
            call("get-sum", a=1.5, b=-2),
            call("get-structured-content", location="Chicago"),
            call("get-tiny-image"),
            call("get-annotated-message", messageType="error", includeImage=True),
            call("get-resource-links", count=2),
            call("gzip-file-as-resource", name="a.gz", data="data:text/plain;base64,aGk=", outputType="resource"),
            call("trigger-long-running-operation", duration=0.1, steps=2),
        ],
        varying=[call("get-env"), call("get-resource-reference", resourceType="Blob", resourceId=2)],
        failing=[call("get-resource-reference", resourceId=-1)],
        lossy=call("echo", message="hello", data={"message": "goodbye"}),
        lost="data",
        declared='"message"',
    )


def _time(parts: Parts) -> RealServer:
    return RealServer(
        name="time",
        target=parts.time,
        steady=[call("convert_time", source_timezone="UTC", time="12:30", target_timezone="Asia/Tokyo")],
        varying=[call("get_current_time", timezone="Europe/Berlin")],
        failing=[call("get_current_time", timezone="Mars/Olympus")],
        lossy=call("get_current_time", timezone="UTC", data={"format": "iso"}),
        lost="data",
        declared='"timezone"',
        is_dual=True,
    )
