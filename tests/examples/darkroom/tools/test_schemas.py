"""What the 22 tools publish, and what none of them lets through."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from darkroom.refusal import DECLARED, RESERVED, Code
from darkroom.studio import open_studio
from darkroom.tools import build_tools
from tests.examples.darkroom.desk import Desk

# The tools in the order of the requirement, each with the arguments it cannot do without.
REQUIRED: dict[str, list[str]] = {
    "list_vocabulary": [],
    "get_state": ["image_id"],
    "apply_primitive": ["image_id", "primitive"],
    "remove_module": ["image_id", "module_id"],
    "reset": ["image_id"],
    "render_preview": ["image_id"],
    "compare": ["image_id"],
    "export_final": ["image_id"],
    "snapshot": ["image_id", "label"],
    "checkout": ["image_id", "ref"],
    "branch": ["image_id", "name"],
    "log": ["image_id"],
    "diff": ["image_id"],
    "tag": ["image_id", "name"],
    "ingest": ["path"],
    "bind_layers": ["image_id"],
    "log_vocabulary_gap": ["wanted"],
    "read_context": [],
    "propose_taste_update": ["category", "text"],
    "confirm_taste_update": ["proposal_id"],
    "propose_notes_update": ["image_id", "text"],
    "confirm_notes_update": ["proposal_id"],
}
READ_ONLY = {"list_vocabulary", "get_state", "render_preview", "compare", "log", "diff", "read_context"}
WITH_STATE = {"apply_primitive", "remove_module", "bind_layers", "reset", "get_state", "checkout"}
NINE = {
    "invalid_input",
    "not_found",
    "darktable_error",
    "synthesizer_error",
    "versioning_error",
    "masking_error",
    "permission_error",
    "state_error",
    "not_implemented",
}
STATE_AFTER = {
    "additionalProperties": False,
    "required": ["head_hash", "entry_count", "enabled_count", "layers_present"],
}
VALID: dict[str, Any] = {
    "image_id": "chart",
    "primitive": "exposure",
    "module_id": "exposure",
    "label": "x",
    "ref": "HEAD",
    "name": "x",
    "path": "chart.png",
    "wanted": "x",
    "category": "tone",
    "text": "x",
    "proposal_id": "0" * 16,
}
PACKAGE = Path(__file__).parents[4] / "examples" / "darkroom" / "darkroom"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    tools = build_tools(open_studio(tmp_path_factory.mktemp("workspace")))
    return {tool["name"]: tool for tool in tools.registry.published()}


def objects_in(schema: object) -> Iterator[dict[str, Any]]:
    """Every part of a schema that describes an object."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects_in(part)


@pytest.mark.requirement("002-11")
@pytest.mark.requirement("002-14")
def test_the_tools_are_the_22_and_their_names_are_flat(published: dict[str, Any]) -> None:
    assert published.keys() == REQUIRED.keys()
    assert len(published) == 22
    assert [name for name in published if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name)] == []


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("tool", REQUIRED)
def test_the_schema_of_each_tool(published: dict[str, Any], tool: str) -> None:
    entry = published[tool]
    schema = entry["inputSchema"]
    assert (schema["type"], schema.get("required", [])) == ("object", REQUIRED[tool])
    assert [part for part in objects_in(schema) if part.get("additionalProperties") is not False] == []
    jsonschema_rs.validator_for(schema)
    jsonschema_rs.validator_for(entry["outputSchema"])
    assert entry["annotations"]["readOnlyHint"] is (tool in READ_ONLY)
    assert entry["annotations"]["destructiveHint"] is False
    assert len(entry["description"]) > 20


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("tool", REQUIRED)
def test_the_defaults_that_are_published_are_values_the_schema_takes(published: dict[str, Any], tool: str) -> None:
    schema = published[tool]["inputSchema"]
    for name, declared in (pair for part in objects_in(schema) for pair in part.get("properties", {}).items()):
        if "default" in declared:
            assert jsonschema_rs.is_valid({"$defs": schema.get("$defs", {}), **declared}, declared["default"]), name


@pytest.mark.requirement("002-10")
@pytest.mark.parametrize("tool", REQUIRED)
def test_state_after_is_declared_by_the_six_that_answer_with_it(published: dict[str, Any], tool: str) -> None:
    schema = published[tool]["outputSchema"]
    data = schema["oneOf"][0]["properties"]["data"]
    assert ("state_after" in data.get("properties", {})) is (tool in WITH_STATE)
    if tool in WITH_STATE:
        assert "state_after" in data["required"]
        assert data["properties"]["state_after"] == {"$ref": "#/$defs/StateSummary"}
        summary = schema["$defs"]["StateSummary"]
        assert {key: summary[key] for key in STATE_AFTER} == STATE_AFTER
        assert schema["$defs"]["LayersPresent"]["required"] == ["L1", "L2", "L3"]


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("tool", REQUIRED)
def test_no_tool_takes_what_it_does_not_declare(desk: Desk, tool: str) -> None:
    required = {name: VALID[name] for name in REQUIRED[tool]}
    unknown = desk.refused(tool, **required, surprise=1)
    assert (unknown["code"], unknown["details"]) == ("invalid_input", {"kind": "shape"})
    wrapped = desk.refused(tool, data=required)
    assert wrapped["code"] == "invalid_input"
    assert wrapped["message"].startswith("Argument 'data' is not a declared field and its value is a nested object.")


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("tool", [name for name, required in REQUIRED.items() if required])
def test_no_tool_takes_a_wrong_type_or_does_without_what_it_needs(desk: Desk, tool: str) -> None:
    required = {name: VALID[name] for name in REQUIRED[tool]}
    for name in required:
        for wrong in (7, None, True, [], ["chart"], {"id": "chart"}, ""):
            refused = desk.refused(tool, **required | {name: wrong})
            assert (refused["code"], refused["details"]) == ("invalid_input", {"kind": "shape"}), (name, wrong)
        missing = desk.refused(tool, **{key: value for key, value in required.items() if key != name})
        assert (missing["code"], missing["details"]) == ("invalid_input", {"kind": "shape"})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": "1"}}),
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": True}}),
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": None}}),
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": 1, "glow": 2}}),
        ("apply_primitive", {"primitive": "exposure", "parameters": [1]}),
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": 1}, "enabled": "yes"}),
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": 1}, "module_id": "Not This"}),
        ("render_preview", {"max_edge": 15}),
        ("render_preview", {"max_edge": 2049}),
        ("render_preview", {"max_edge": 100.5}),
        ("render_preview", {"format": "gif"}),
        ("export_final", {"quality": 0}),
        ("log", {"limit": 201}),
        ("snapshot", {"label": "x" * 201}),
    ],
)
def test_values_beyond_what_is_declared_are_refused_before_the_tool_runs(
    desk: Desk, tool: str, arguments: dict[str, Any]
) -> None:
    refused = desk.refused(tool, image_id="nobody", **arguments)
    assert (refused["code"], refused["details"]) == ("invalid_input", {"kind": "shape"})


# --- codes -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("002-14")
def test_the_codes_are_the_nine_and_published(published: dict[str, Any]) -> None:
    assert set(Code) == NINE
    for tool in published.values():
        error = tool["outputSchema"]["oneOf"][1]["properties"]["error"]
        assert set(error["properties"]["code"]["enum"]) > NINE


@pytest.mark.requirement("002-14")
def test_the_reserved_codes_have_no_call_site_and_say_so() -> None:
    assert {"synthesizer_error", "permission_error", "masking_error", "not_implemented"} == RESERVED
    assert {code.name for code in DECLARED if code.is_reserved} == {"synthesizer_error", "masking_error"}
    used: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name != "refusal.py":
            used |= set(re.findall(r"\bCode\.([A-Z_]+)", path.read_text("utf-8")))
    assert used == {code.name for code in set(Code) - RESERVED}
    readme = (PACKAGE.parent / "README.md").read_text("utf-8")
    assert [code for code in RESERVED if f"`{code}`" not in readme] == []


# --- this suite ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("002-13")
@pytest.mark.parametrize("tool", REQUIRED)
def test_each_tool_has_a_handler_test_of_its_own(tool: str) -> None:
    names = [
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and f'"{tool}"' in ast.unparse(node).replace("'", '"')
    ]
    longer = tuple(f"test_{other}_" for other in REQUIRED if other.startswith(f"{tool}_"))
    own = [name for name in names if name.startswith(f"test_{tool}_") and not (longer and name.startswith(longer))]
    assert own != []


def test_the_list_is_small_enough_to_read(published: dict[str, Any]) -> None:
    # A client reads all of it into the agent's context; this is about 15,000 tokens, output schemas included.
    assert len(json.dumps(list(published.values()))) < 64_000
