"""The published JSON Schema agrees with the loader."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.cli.config import STARTER
from handfast.gateway.settings import Settings, SettingsError, load_settings
from handfast.gateway.settings.keys import GLOBAL_KEYS
from handfast.gateway.settings.schema import render_schema, settings_schema
from tests.gateway.settings.dumping import dump_settings

DOCS = Path(__file__).parents[3] / "docs"
SCHEMA = jsonschema_rs.Draft202012Validator(settings_schema())


def test_the_published_schema_is_current() -> None:
    published = (DOCS / "handfast.schema.json").read_text("utf-8")

    assert published == render_schema(), "run: python -m handfast.gateway.settings.reference docs"


def test_the_schema_is_a_valid_one() -> None:
    jsonschema_rs.meta.validate(settings_schema())


def test_the_examples_in_the_documents_fit_the_schema_and_load(tmp_path: Path) -> None:
    examples = re.findall(r"```json\n(.*?)```", (DOCS / "settings.md").read_text("utf-8"), re.DOTALL)

    assert examples
    for example in [*examples, STARTER]:
        assert SCHEMA.is_valid(json.loads(example))
        path = tmp_path / "example.json"
        path.write_text(example, "utf-8")
        load_settings(path, environ={"GITHUB_TOKEN": "t"})


A = {"command": "a"}
MISTAKES: list[dict[str, object]] = [
    {},
    {"mcpServers": []},
    {"mcpServers": {}, "servers": {}},
    {"mcpServers": {"a__b": A}},
    {"mcpServers": {"a_": A}},
    {"mcpServers": {"..": A}},
    {"mcpServers": {"s": {}}},
    {"mcpServers": {"s": {"command": "a", "url": "http://b"}}},
    {"mcpServers": {"s": {"command": "a", "args": "b"}}},
    {"mcpServers": {"s": {"command": "a", "env": {"A": 1}}}},
    {"mcpServers": {"s": {"url": "http://a", "type": "websocket"}}},
    {"mcpServers": {"s": {**A, "output_validation": {}}}},
    {"mcpServers": {"s": {**A, "handfast": {"mode": "strict"}}}},
    {"mcpServers": {"s": {**A, "handfast": {"surfac": "full"}}}},
    {"mcpServers": {"s": {**A, "handfast": {"isolation": "none"}}}},
    {"mcpServers": {"s": {**A, "handfast": {"tools": {"t": {"surface": "full"}}}}}},
    {"mcpServers": {"s": {**A, "handfast": {"tools": {"t": {"max_depth": 0}}}}}},
    {"mcpServers": {}, "handfast": {}},
    {"mcpServers": {}, "output_validation": {"mod": "strict"}},
    {"mcpServers": {}, "output_validation": {"mode": "strct"}},
    {"mcpServers": {}, "output_validation": {"max_depth": 501}},
    {"mcpServers": {}, "input_validation": {"ignore": "a"}},
    {"mcpServers": {}, "activity": {"store": "mysql://x"}},
    {"mcpServers": {}, "limits": {"sessions": "4"}},
    {"mcpServers": {}, "limits": {"call_timeout_s": 0}},
    {"mcpServers": {}, "listen": "localhost:65536"},
    {"mcpServers": {}, "allowed_origins": ["https://a.example/path"]},
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=json.dumps)
def test_typical_mistakes_fit_neither_the_schema_nor_the_loader(tmp_path: Path, mistake: dict[str, object]) -> None:
    path = tmp_path / "handfast.json"
    path.write_text(json.dumps(mistake), "utf-8")

    assert not SCHEMA.is_valid(mistake)
    with pytest.raises(SettingsError):
        load_settings(path, environ={})


def test_keys_of_other_clients_fit_the_schema() -> None:
    assert SCHEMA.is_valid({"$schema": "x", "inputs": [], "servers": {"s": {**A, "autoApprove": []}}})


def test_the_default_settings_fit_the_schema() -> None:
    assert SCHEMA.is_valid(json.loads(dump_settings(Settings())))


VALUES = (
    st.none() | st.booleans() | st.integers(-1, 600) | st.sampled_from(["warn", "all", "none", "allow", "x", "a:1"])
)


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(GLOBAL_KEYS)),
    VALUES | st.lists(st.sampled_from(["a", "a", "://"]), max_size=2, unique=True),
)
def test_schema_and_loader_agree_about_any_single_value(
    tmp_path_factory: pytest.TempPathFactory, dotted: str, value: object
) -> None:
    block, _, name = dotted.rpartition(".")
    document: dict[str, object] = {"mcpServers": {}, **({block: {name: value}} if block else {name: value})}
    path = tmp_path_factory.getbasetemp() / "single.json"
    path.write_text(json.dumps(document), "utf-8")

    # Keys that must fit each other are the one rule about global values that the schema does not say.
    is_alone = dotted not in ("limits.body_bytes", "limits.message_bytes", "tls.certificate", "tls.key")
    assert not is_alone or loads(path) == SCHEMA.is_valid(document)


def loads(path: Path) -> bool:
    try:
        load_settings(path, environ={})
    except SettingsError:
        return False
    return True
