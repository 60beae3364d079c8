"""SARIF 2.1.0: the shape that the standard asks for, and what it says of each finding."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from handfast import __version__
from handfast.lint.findings import RULES, make_finding
from handfast.lint.sarif import render_sarif


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


TEXT = closed(["text"], text={"type": "string"})
LEVEL = {"enum": ["none", "note", "warning", "error"]}
URI = {"type": "string", "pattern": "^[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*$"}  # RFC 3986: everything else is escaped
# What the standard's own schema says of the parts that are used here; it closes every object.
ESSENCE = closed(
    ["version", "runs"],
    **{"$schema": URI, "version": {"enum": ["2.1.0"]}},
    runs={
        "type": "array",
        "items": closed(
            ["tool"],
            tool=closed(
                ["driver"],
                driver=closed(
                    ["name"],
                    name={"type": "string"},
                    version={"type": "string"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": closed(
                            ["id"],
                            id={"type": "string"},
                            shortDescription=TEXT,
                            help=TEXT,
                            defaultConfiguration=closed([], level=LEVEL),
                        ),
                    },
                ),
            ),
            results={
                "type": "array",
                "items": closed(
                    ["message"],
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": -1},
                    level=LEVEL,
                    message=TEXT,
                    locations={
                        "type": "array",
                        "items": closed(
                            [],
                            physicalLocation=closed(
                                ["artifactLocation"],
                                artifactLocation=closed([], uri=URI, uriBaseId={"type": "string"}),
                                region=closed([], startLine={"type": "integer", "minimum": 1}),
                            ),
                            logicalLocations={
                                "type": "array",
                                "items": closed([], fullyQualifiedName={"type": "string"}),
                            },
                        ),
                    },
                ),
            },
        ),
    },
)

FINDINGS = [
    make_finding("boundary-typed", "No call.", "Call it.", file="src/größe x.py", line=7),
    make_finding("mcp-admin-guardrail-unseen", "Unseen.", "Name it.", file="/app/x.py", line=1),
    make_finding("tool-open-root", "Open.", "Close it.", file="tools.json", tool="a", path="inputSchema"),
    make_finding("tool-name", "Odd.", "Rename it.", origin="contacts", tool="a b", path="name"),
    make_finding("source-unreadable", "Binary.", "Leave it out.", file="x.py"),
]


def is_sarif(log: Any) -> bool:  # Any: JSON
    return jsonschema_rs.Draft202012Validator(ESSENCE).is_valid(json.loads(json.dumps(log)))


@pytest.mark.parametrize("count", [0, len(FINDINGS)])
def test_a_log_has_the_shape_of_the_standard(count: int) -> None:
    assert is_sarif(render_sarif(FINDINGS[:count]))


def test_the_shape_refuses_what_is_no_sarif() -> None:
    wrong = render_sarif(FINDINGS)
    wrong["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert not is_sarif(wrong)


def test_a_log_says_of_each_finding_what_and_where() -> None:
    results = render_sarif(FINDINGS)["runs"][0]["results"]
    assert [(r["ruleId"], r["level"], r["message"]["text"], r["locations"]) for r in results] == [
        (
            "boundary-typed",
            "error",
            "No call. Call it.",
            [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "src/gr%C3%B6%C3%9Fe%20x.py", "uriBaseId": "%SRCROOT%"},
                        "region": {"startLine": 7},
                    }
                }
            ],
        ),
        (
            "mcp-admin-guardrail-unseen",
            "warning",
            "Unseen. Name it.",
            [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": Path("/app/x.py").as_uri()},
                        "region": {"startLine": 1},
                    }
                }
            ],
        ),
        (
            "tool-open-root",
            "note",
            "Open. Close it.",
            [
                {
                    "physicalLocation": {"artifactLocation": {"uri": "tools.json", "uriBaseId": "%SRCROOT%"}},
                    "logicalLocations": [{"fullyQualifiedName": "a/inputSchema"}],
                }
            ],
        ),
        (
            "tool-name",
            "warning",
            "Odd. Rename it.",
            [{"logicalLocations": [{"fullyQualifiedName": "contacts/a b/name"}]}],
        ),
        (
            "source-unreadable",
            "error",
            "Binary. Leave it out.",
            [{"physicalLocation": {"artifactLocation": {"uri": "x.py", "uriBaseId": "%SRCROOT%"}}}],
        ),
    ]


def test_a_log_has_every_rule_and_results_point_at_theirs() -> None:
    run = render_sarif(FINDINGS)["runs"][0]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("handfast", __version__)
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    assert [driver["rules"][r["ruleIndex"]]["id"] for r in run["results"]] == [f.id for f in FINDINGS]
