"""Secrets that a client, a server or the settings put somewhere: none is ever written by the gateway."""

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.rig import HANDFAST, Gateway, HttpGateway, Json, WrapGateway, end
from tests.gateway.running import eventually, read_records, running, stdio
from tests.gateway.translate.servers.asking import Way, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

Front = Literal["wrap", "server", "all", "compact"]
Era = Literal["legacy", "modern"]
PLACES: list[tuple[Front, Way, Era]] = [
    ("wrap", "stdio", "legacy"),
    ("wrap", "stdio", "modern"),
    ("wrap", "http-sse", "legacy"),
    ("server", "stdio", "legacy"),
    ("server", "stdio", "modern"),
    ("server", "http-json", "modern"),
    ("server", "http-sse", "legacy"),
    ("all", "stdio", "modern"),
    ("all", "http-json", "legacy"),
    ("compact", "stdio", "legacy"),
    ("compact", "http-sse", "modern"),
]
LOUD: Json = {"input_validation": {"mode": "strict", "unknown_arguments": "reject_all"}}
DECLARED = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "inner": {"type": "object", "additionalProperties": {"type": "integer"}},
        "list": {"type": "array"},
    },
    "additionalProperties": False,
}

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def drawn(size: int, letters: str = LETTERS) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=size, max_size=size)


KINDS = st.one_of(
    drawn(20).map("sk-{}".format),
    drawn(36).map("ghp_{}".format),
    drawn(40).map("github_pat_{}".format),
    drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").map("AKIA{}".format),
    drawn(35).map("AIza{}".format),
    drawn(20).map("glpat-{}".format),
    drawn(34).map("hf_{}".format),
    drawn(24).map("xoxb-123456789012-{}".format),
    drawn(40, "0123456789abcdef").filter(lambda text: len(set(text)) > 8),  # the chain itself begins with 64 zeros
    drawn(43).map("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}".format),
)
# What a secret may stand in, wherever it then is.
FORMS: list[Callable[[str], str]] = [
    str,
    "use {} please".format,
    "https://user:{}@host/path".format,
    "https://host/path?page=1&key={}".format,
    "https://host/cb#code={}".format,
    "Authorization: Bearer\n {}".format,
    "password:\n{}".format,
    '{{"nested": "{}"}}'.format,
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----".format,
    lambda secret: base64.b64encode(f"token={secret}".encode()).decode(),
    lambda secret: base64.urlsafe_b64encode(f"Bearer {secret}".encode()).decode().rstrip("="),
]
# Where in a call; the last is a value that only its name makes a secret.
PLANTS: dict[str, Callable[[str], tuple[str, Json]]] = {
    "value": lambda text: ("take", {"text": text}),
    "value of a wrong type": lambda text: ("take", {"count": text, "list": [[text], {"a": text}]}),
    "name": lambda text: ("take", {text: 1}),
    "names": lambda text: ("take", {text: 1, f"{text} ": 2, "other": 3}),
    "wrapper": lambda text: ("take", {text: {"text": "x"}}),
    "name in a wrapper": lambda text: ("take", {"data": {text: 1}}),
    "name in a field": lambda text: ("take", {"inner": {text: "wrong"}}),
    "tool": lambda text: (text, {"text": "x"}),
    "under a name": lambda text: ("take", {"text": "x", "list": [{"session": text, "userPin": text, "pwd": [text]}]}),
}


@dataclass
class Planted:
    """A gateway that secrets are sent to, and all that it has written."""

    client: Gateway
    front: Front
    folder: Path
    secrets: dict[str, str] = field(default_factory=dict)  # each, and how it was planted
    answers: list[bytes] = field(default_factory=list)

    def plant(self, secret: str, where: str, form: int) -> None:
        text = FORMS[form](secret)
        self.secrets[secret] = f"{where}, form {form}: {secret}"
        if secret not in text:  # encoded, which whoever reads it can undo
            self.secrets[text] = f"{where}, form {form}: {text}"
        self.call(*PLANTS[where](text))

    def call(self, name: str, arguments: Json) -> None:
        if self.front == "compact":
            name, arguments = "up", {"action": name, "arguments": arguments}
        elif self.front == "all":
            name = f"up__{name}"
        with suppress(ValueError):  # a modern client cannot name every tool in its headers
            self.answers.append(self.client.call(name, arguments).raw)

    def found(self) -> list[str]:
        """How the secrets were planted that stand in a file of the gateway's or in what it answered."""
        files = [path.read_bytes() for path in (self.folder / "state").iterdir()]
        written = b"\n".join([*files, (self.folder / "stderr").read_bytes(), *self.answers])
        # The store is ASCII, so a secret of ASCII stands in it as it is.
        return [how for secret, how in self.secrets.items() if secret.encode() in written]


@contextmanager
def planting(front: Front, way: Way, era: Era, folder: Path, **settings_: Json) -> Iterator[Planted]:
    stub = write_stub(
        folder, tools=[tool("take", DECLARED)], answers={"take": answer('{"content":[{"type":"text","text":"fine"}]}')}
    )
    own: Json = {"surface": "compact"} if front == "compact" else {}
    with entry_for(stub, way) as entry, (folder / "stderr").open("wb") as errors:
        (folder / "handfast.json").write_text(
            json.dumps({"mcpServers": {"up": {**entry, "handfast": own}}, **LOUD, **settings_})
        )
        flags = ["--config", str(folder / "handfast.json"), "--state", str(folder / "state")]
        if front == "wrap":
            server = ["--url", entry["url"]] if "url" in entry else ["--", entry["command"], *entry["args"]]
            command, pipes = [*HANDFAST, "wrap", "--name", "up", *flags, *server], subprocess.PIPE
        else:
            command, pipes = [*HANDFAST, "serve", "--listen", "127.0.0.1:0", *flags], None
        with subprocess.Popen(command, stdin=pipes, stdout=pipes, stderr=errors) as process:
            try:
                yield Planted(opened(process, front, era, folder), front, folder)
            finally:
                if process.stdin is not None:
                    process.stdin.close()
                end(process)


def opened(process: "subprocess.Popen[bytes]", front: Front, era: Era, folder: Path) -> Gateway:
    client: Gateway
    if front == "wrap":
        client = WrapGateway(process, folder / "state", is_modern=era == "modern")
    else:
        errors = folder / "stderr"
        eventually(lambda: b"listening on" in errors.read_bytes(), "the gateway listens", seconds=30)
        base = errors.read_bytes().split(b"listening on ")[1].split()[0].decode()
        client = HttpGateway(base, folder / "state", is_modern=era == "modern")
        client.path = "/mcp" if front == "all" else "/mcp/up"
    client.open()
    return client


@pytest.mark.requirement("S10")
@pytest.mark.requirement("D17")
@pytest.mark.parametrize("bodies", ["none", "redacted"])
@pytest.mark.parametrize(("front", "way", "era"), PLACES, ids=["-".join(place) for place in PLACES])
def test_no_planted_secret_is_ever_written(front: Front, way: Way, era: Era, bodies: str, tmp_path: Path) -> None:
    with planting(front, way, era, tmp_path, activity={"bodies": bodies, "whole_refusals": None}) as planted:

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(st.sampled_from(sorted(PLANTS)), KINDS, st.integers(0, len(FORMS) - 1))
        def plant(where: str, secret: str, form: int) -> None:
            planted.plant(secret, where, form)

        plant()
        for form in range(len(FORMS)):  # and each form at each place for certain
            for where in PLANTS:
                secret = f"sk-{form}a{sorted(PLANTS).index(where)}Bcdefghijklmnopq"
                planted.plant(secret, where, form)
        assert planted.found() == []  # while it runs: the log beside the database included
    assert planted.found() == []
    assert len(read_records(tmp_path / "state", type="tool_call")) >= len(FORMS) * (len(PLANTS) - 1)


# --- what servers and settings say ------------------------------------------------------------------------------------

SECRET = "sk-livAbcdefghijklmnop"


def written_by(folder: Path, errors: list[bytes]) -> bytes:
    return b"".join([path.read_bytes() for path in (folder / "state").iterdir()] + errors)


@pytest.mark.requirement("S10")
@pytest.mark.requirement("D17")
@pytest.mark.parametrize(
    "entry",
    [
        {"url": f"http://127.0.0.1:1/mcp?api_key={SECRET}"},
        {"url": f"http://127.0.0.1:1/{SECRET}/mcp"},
        {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
        {"command": f"no-such-server --api-key {SECRET}"},
        {"command": "no-such-server --password hunter-livAbcdefghijklmnop"},
        {"command": f"./no/such/{SECRET}"},
        {"command": "no-such-server", "args": ["--key", SECRET], "env": {"TOKEN": SECRET}},
        {"command": "false", "args": [SECRET], "env": {"TOKEN": SECRET}},
        {"command": "/", "args": [SECRET]},
    ],
    ids=["query", "path", "header", "command", "option", "program", "arguments", "exits", "no program"],
)
def test_how_a_server_is_reached_is_told_without_its_secrets(tmp_path: Path, entry: Json) -> None:
    with running({"up": entry}, tmp_path) as gateway:
        for path in ("/mcp/up", "/mcp"):
            client = HttpGateway(gateway.base, gateway.state, is_modern=False)
            client.path = path
            answers = [client.open(), client.call("up__x" if path == "/mcp" else "x")]
            assert all(b"livAbc" not in one.raw for one in answers if one is not None)
        assert "livAbc" not in json.dumps(gateway.health()[1])
        command = [*HANDFAST, "servers", "--url", gateway.base, "--config", str(gateway.config), "-o", "json"]
        assert b"livAbc" not in subprocess.run(command, capture_output=True, check=True).stdout
    assert b"livAbc" not in written_by(tmp_path, gateway.errors)
    for words in (["config", "check"], ["config", "show"], ["activity", "export", "--state", str(gateway.state)]):
        flags = [] if words[0] == "activity" else ["--config", str(gateway.config)]
        done = subprocess.run([*HANDFAST, *words, *flags], capture_output=True, check=False)
        assert b"livAbc" not in done.stdout + done.stderr


def saying(folder: Path) -> Stub:
    """A server that puts a secret wherever it may choose a text."""
    odd = {"type": "object", "properties": {SECRET: {"type": "nonsense"}}}
    strict = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    return write_stub(
        folder,
        tools=[tool(f"tool {SECRET}"), tool("odd", odd), tool("result", None, strict), tool("result2", None, strict)],
        answers={
            f"tool {SECRET}": answer(error=json.dumps({"code": -32000, "message": f"no token={SECRET}"})),
            "odd": answer('{"content":[]}'),
            "result": answer({"content": [], "structuredContent": {SECRET: 1}}),
            "result2": answer({"content": [], "structuredContent": {"n": SECRET}}),
        },
    )


@pytest.mark.requirement("S10")
@pytest.mark.requirement("D17")
@pytest.mark.parametrize("bodies", ["none", "redacted"])
def test_what_a_server_chooses_to_say_is_recorded_without_its_secrets(tmp_path: Path, bodies: str) -> None:
    stub = saying(tmp_path)
    told = {"bodies": bodies}
    with running({"up": stdio(stub)}, tmp_path, activity=told, output_validation={"mode": "strict"}) as gateway:
        client = gateway.client()
        client.list_tools()
        for name in (f"tool {SECRET}", "odd", "result", "result2"):
            client.call(name)
        health = json.dumps(gateway.health()[1])
    written = b"".join((gateway.state / name).read_bytes() for name in ("activity.db",)) + b"".join(gateway.errors)
    assert SECRET.encode() not in written
    assert SECRET not in health
    kinds = {record.rule for record in read_records(gateway.state)}
    assert {"contract.added", "result.schema"} <= kinds
    # What it promised is kept as it is, since it is what calls are judged by.
    assert SECRET.encode() in (gateway.state / "catalog.db").read_bytes()
