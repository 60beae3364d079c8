"""Findings as SARIF 2.1.0, the format that code hosts and editors show."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from handfast import __version__
from handfast.lint.findings import RULES, Finding, Level

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
_PLACES = {rule_id: place for place, rule_id in enumerate(RULES)}

Sarif = dict[str, Any]  # Any: JSON


def render_sarif(findings: Sequence[Finding]) -> Sarif:
    """Renders the log of one run: every rule of the catalogue, and a result for each finding in the given order."""
    driver = {"name": "handfast", "version": __version__, "rules": [_rule(rule_id) for rule_id in RULES]}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(finding) for finding in findings]}],
    }


def _rule(rule_id: str) -> Sarif:
    rule = RULES[rule_id]
    return {
        "id": rule_id,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.hint},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }


def _result(finding: Finding) -> Sarif:
    return {
        "ruleId": finding.id,
        "ruleIndex": _PLACES[finding.id],
        "level": _LEVELS[finding.level],
        "message": {"text": f"{finding.message} {finding.hint}"},
        "locations": [_location(finding)],
    }


def _location(finding: Finding) -> Sarif:
    location: Sarif = {}
    if finding.file:
        location["physicalLocation"] = {"artifactLocation": _artifact(finding.file)}
        if finding.line:
            location["physicalLocation"]["region"] = {"startLine": finding.line}
    inside = "/".join(part for part in (finding.origin, finding.tool, finding.path) if part)
    if inside:
        location["logicalLocations"] = [{"fullyQualifiedName": inside}]
    return location


def _artifact(file: str) -> Sarif:
    path = PurePath(file)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(path.as_posix(), errors="surrogateescape"), "uriBaseId": "%SRCROOT%"}
