"""The manifest of requirements against the tests that claim them."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / "docs" / "requirements.toml"

# How many lines each source has, so that none can be left out of the manifest.
RANGES = {
    "000-": 20,
    "001-": 19,
    "002-": 14,
    "003-": 15,
    "004-": 15,
    "T": 5,
    "D": 26,
    "B": 7,
    "C": 3,
    "P": 9,
    "E": 5,
    "S": 10,
    "F": 12,
}
KNOWN = [f"{prefix}{number}" for prefix, last in RANGES.items() for number in range(1, last + 1)]

Claims = dict[str, list[str]]  # id → the places of the tests that claim it


@cache
def read_manifest() -> dict[str, dict[str, str]]:
    return tomllib.loads(MANIFEST.read_text("utf-8"))


def claims_in(source: str, place: str) -> Iterator[tuple[str, str]]:
    """Every id a file's tests claim: a decorator, `pytestmark`, or `pytest.param(marks=...)`, which all are calls."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.requirement"):
            for argument in node.args:
                # A computed id could not be found here, so it would claim nothing.
                assert isinstance(argument, ast.Constant), f"{place}:{node.lineno}: write the id as plain text"
                yield str(argument.value), f"{place}:{node.lineno}"


@cache
def claims() -> Claims:
    found: Claims = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path == Path(__file__):
            continue
        for requirement, place in claims_in(path.read_text("utf-8"), str(path.relative_to(ROOT))):
            found.setdefault(requirement, []).append(place)
    return found


def unproven(manifest: Mapping[str, Mapping[str, str]], claimed: Claims) -> list[str]:
    return [name for name, line in manifest.items() if line["state"] == "held" and name not in claimed]


def test_the_manifest_has_every_line_and_no_other() -> None:
    assert list(read_manifest()) == [
        *KNOWN[:20],
        *(name for name in KNOWN if name.startswith("T")),
        *(name for name in KNOWN[20:] if not name.startswith("T")),
    ]


@pytest.mark.parametrize("name", KNOWN)
def test_each_line_has_a_state_and_a_sentence(name: str) -> None:
    line = read_manifest()[name]
    assert set(line) - {"note"} == {"state", "text"}
    assert line["state"] in ("held", "planned")
    assert line["text"].endswith(".")


def test_every_claim_names_a_line_of_the_manifest() -> None:
    unknown = {name: places for name, places in claims().items() if name not in read_manifest()}
    assert unknown == {}, f"no such requirement in {MANIFEST.name}: {', '.join(unknown)}"


def test_every_held_line_has_a_test() -> None:
    missing = unproven(read_manifest(), claims())
    assert missing == [], f"held without a test: {', '.join(missing)}. Mark a test for each, or make it planned."


def test_a_planned_line_with_tests_says_which_part_is_there() -> None:
    manifest = read_manifest()
    silent = [name for name in claims() if manifest[name]["state"] == "planned" and "note" not in manifest[name]]
    assert silent == [], (
        f"planned, yet tested: {', '.join(silent)}. Make the line held, or say in a note what is there."
    )


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.requirement("B1")\ndef test(): ...',
        'pytestmark = [pytest.mark.slow, pytest.mark.requirement("B1")]',
        '@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("B1"))])\ndef test(x): ...',
        '@mark.requirement("B1")\nclass TestIt: ...',
    ],
)
def test_claims_are_found_wherever_pytest_takes_marks(source: str) -> None:
    assert [name for name, _ in claims_in(source, "here")] == ["B1"]


def test_a_held_line_without_a_test_is_named() -> None:
    manifest = {"B1": {"state": "held"}, "B2": {"state": "held"}, "B3": {"state": "planned"}}
    assert unproven(manifest, {"B1": ["here:1"]}) == ["B2"]


def test_a_computed_id_is_refused() -> None:
    with pytest.raises(AssertionError, match="plain text"):
        list(claims_in("pytest.mark.requirement(name)", "here"))
