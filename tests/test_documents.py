"""The documents against the product: what can be pasted is run, what is made from the code is current."""

import json
import os
import re
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripts import demo_recording, document_faults, document_proofs, document_tree

from tests.demo import HANDFAST, ROOT, Demo, default_commands, running_demo

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
RENEW = "run: scripts/docs"

# What differs from run to run: ids and hashes, times, milliseconds, and how many records there are: servers that start
# with the gateway have one or two more by the time that a reader has typed a command.
VARYING = r"\b[0-9a-f]{28,64}\b|\b\d{4}-\d\d-\d\d[T ][\d:.]+Z|\b\d+\.\d\b|\b\d+(?= records\b)|(?<=at record )\d+\b"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a document and what the document says it prints."""

    command: str
    shown: list[str]


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    how: str  # what the comment right before the block says: run, run: demo, or nothing


def blocks(document: str) -> Iterator[Block]:
    pattern = r"(?:<!-- (?P<how>run(?:: demo)?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$"
    for match in re.finditer(pattern, document, re.MULTILINE | re.DOTALL):
        yield Block(match["language"], match["text"], match["how"] or "")


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append(Step(line.removeprefix("$ "), []))
        else:
            found[-1].shown.append(line)
    return found


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether what was printed has the shape of what the document shows; spaces that only align do not count."""
    return len(shown) == len(printed) and all(map(_fits_line, shown, printed))


def _fits_line(shown: str, printed: str) -> bool:
    plain = re.split(rf"({VARYING}|…)", " ".join(shown.split()))
    # Every second piece is one that varies.
    parts = [
        re.escape(piece) if place % 2 == 0 else ".*" if piece == "…" else rf"(?:{VARYING})"
        for place, piece in enumerate(plain)
    ]
    return re.fullmatch("".join(parts), " ".join(printed.split())) is not None


def paste(command: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"PATH": f"{HANDFAST.parent}:{os.environ['PATH']}", "NO_COLOR": "1"} | variables
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=60, **both)  # type: ignore[call-overload, no-any-return]  # the dict's values


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    with running_demo(tmp_path / "state") as demo:
        yield demo


# --- what can be pasted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [n for n in NAMES if "<!-- run" in (ROOT / n).read_text("utf-8") and n != "CONTRIBUTING.md"]
)
def test_what_a_document_shows_is_what_is_printed(name: str, demo: Demo, tmp_path: Path) -> None:
    runnable = [block for block in blocks((ROOT / name).read_text("utf-8")) if block.how]
    assert {block.language for block in runnable} == {"console"}
    for block in runnable:
        for step in steps(block.text):
            command = step.command.replace(".venv/bin/handfast", "handfast").replace("--state .state", "")
            command = command.replace("http://127.0.0.1:8480", demo.url)
            variables = {"HANDFAST_STATE": str(demo.state)} if block.how == "run: demo" else {}
            printed = paste(command, tmp_path, **variables).stdout.splitlines()
            assert fits(step.shown, printed), "\n".join([f"$ {step.command}", *printed])


def test_the_first_minute_is_what_serve_prints(demo: Demo) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = [step.command for block in blocks(readme) if block.how == "run: demo" for step in steps(block.text)]
    assert shown[:4] == default_commands(demo)[1:]


@pytest.mark.parametrize("name", NAMES)
def test_json_in_a_document_is_json_and_settings_are_right(name: str, tmp_path: Path) -> None:
    for block in blocks((ROOT / name).read_text("utf-8")):
        if block.language == "json" and "mcpServers" in json.loads(block.text):
            (tmp_path / "handfast.json").write_text(block.text, "utf-8")
            checked = paste("handfast config check handfast.json", tmp_path, GITHUB_TOKEN="t")
            assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("command", ["handfast servers", "handfast tools contacts"])
def test_the_commands_of_the_readme_know_the_demo(command: str, demo: Demo) -> None:
    assert command.split(" contacts")[0] in (ROOT / "README.md").read_text("utf-8")
    shown = paste(f"{command} --url {demo.url} --config examples/demo/handfast.json -o json", ROOT)
    assert [row["server"] for row in json.loads(shown.stdout)] in (["contacts"], ["contacts"] * 3)


def test_what_is_installed_by_name_is_not_handfast_which_no_index_has() -> None:
    """From a checkout it is `pip install .`, with the extras that there are."""
    sources = [*DOCUMENTS, *(ROOT / "src").rglob("*.py")]
    told = {path: re.findall(r"pip install ([^`#\n]+)", path.read_text("utf-8")) for path in sources}
    assert {path: names for path, names in told.items() if any("handfast" in name for name in names)} == {}
    extras = {extra for names in told.values() for name in names for extra in re.findall(r"\.\[(\w+)\]", name)}
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras == set(known)


def test_the_benchmarks_are_started_with_the_python_of_the_checkout() -> None:
    pages = {name: (ROOT / name).read_text("utf-8") for name in NAMES if name != "CHANGELOG.md"}
    assert [name for name, text in pages.items() if re.search(r"(?<!\.venv/bin/)python -m benchmarks", text)] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("examples/")])
def test_the_commands_of_an_example_are_those_of_the_checkout(name: str) -> None:
    """After `scripts/setup` nothing is on the PATH: commands are named in full, or the page says what to put there."""
    text = (ROOT / name).read_text("utf-8")
    bare = [line for line in text.splitlines() if re.match(r"(?:\$ )?(?:handfast|python) ", line)]
    before = text.partition('export PATH="$PWD/.venv/bin:$PATH"')[0]
    assert [line for line in bare if line in before] == []


def test_a_line_that_differs_does_not_fit() -> None:
    shown = "01a1e16239d10002a39a4da82faf  2026-11-15T22:44:33.361396Z  blocked  0.2  Argument …"
    printed = "01a1e1623ba00000d5a122ff748a 2027-01-01T00:00:00.000000Z blocked 17.5 Argument 'data' is wrong"
    assert fits([shown], [printed])
    assert not fits([shown], [printed.replace("blocked", "warning")])
    assert not fits([shown], [])
    assert not fits([shown], [printed, printed])


# --- what is made from the code --------------------------------------------------------------------------------------


def test_the_tree_has_every_file_as_it_is() -> None:
    page = document_tree.PAGE.read_text("utf-8")
    assert page == document_tree.with_tree(page), RENEW


def test_the_table_of_faults_is_the_one_that_is_tested() -> None:
    page = document_faults.PAGE.read_text("utf-8")
    assert page == document_faults.with_table(page), RENEW


def test_every_file_of_the_tree_says_what_it_is() -> None:
    assert re.findall(r"^  (\S+)$", document_tree.render_tree(), re.MULTILINE) == []


def test_the_layers_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = "\n".join(contracts[0]["layers"])
    assert f"```\n{layers}\n```" in (ROOT / "docs" / "how-it-works.md").read_text("utf-8")


def test_every_pitfall_and_promise_names_the_tests_that_show_it() -> None:
    page = "\n".join(page.read_text("utf-8") for page in document_proofs.PAGES)
    shown = {name: re.findall(r"\[(\S+?)\]", files) for name, files in re.findall(_PITFALL, page)}
    manifest = tomllib.loads((ROOT / "docs" / "requirements.toml").read_text("utf-8"))
    held = {name for name, line in manifest.items() if name[0] in "BCPESF" and line["state"] == "held"}
    known = document_proofs.proofs()
    assert set(shown) == held
    assert page.count("\nShown by:") == len(held), "one line with tests in each section"
    assert {name: files for name, files in shown.items() if not files} == {}, RENEW
    assert {name: files for name, files in shown.items() if not set(files) <= set(known.get(name, []))} == {}, RENEW


_PITFALL = re.compile(r"^### (\w+) (?:(?!^### |^Shown by:).*\n)*Shown by:(.*)$", re.MULTILINE)


@pytest.mark.requirement("D26")
def test_the_list_of_decisions_is_complete_and_numbers_are_not_used_twice() -> None:
    index = document_proofs.DECISIONS / "README.md"
    assert index.read_text("utf-8") == document_proofs.render_decisions(), RENEW
    numbers = [path.name[:4] for path in document_proofs.DECISIONS.glob("[0-9]*.md")]
    assert sorted(numbers) == sorted(set(numbers))


@pytest.mark.requirement("D26")
@pytest.mark.parametrize("path", sorted(document_proofs.DECISIONS.glob("[0-9]*.md")), ids=lambda path: path.name)
def test_a_decision_says_why_what_else_and_what_it_costs(path: Path) -> None:
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
    heads = re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)
    expected = ["Context", "Decision", "Alternatives", "Cost"]
    assert [head for head in heads if head in expected] == expected


def picture_lines(svg: str) -> list[str]:
    """What a picture says, without what varies. Tables are cut to fit, so of their cells only the beginnings count."""
    lines = ["".join(line.itertext()) for line in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    return [_steady(line) for line in lines]


def _steady(line: str) -> str:
    if re.match(r"[0-9a-f]{6}", line):
        status, kind = re.split(r"\s{2,}", line)[2:4]
        return f"{status} {kind[:4]}"
    return " ".join(re.sub(VARYING, "#", line).split())


def test_the_picture_shows_what_happens_today() -> None:
    fresh = demo_recording.render(demo_recording.record())
    assert picture_lines(demo_recording.PICTURE.read_text("utf-8")) == picture_lines(fresh), RENEW


# --- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_links_within_the_project_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []


def test_the_index_names_every_document() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    own = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".json", ".toml")}
    assert sorted(name for name in own - {"index.md"} if f"({name})" not in index) == []


def test_the_guide_is_short_enough_to_be_read_at_once() -> None:
    assert len((ROOT / "docs" / "how-it-works.md").read_text("utf-8").splitlines()) <= 250
