"""Write anew which tests show each line of docs/pitfalls.md, security.md and limits.md, and the list of decisions.

python scripts/document_proofs.py
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = tuple(ROOT / "docs" / name for name in ("pitfalls.md", "security.md", "limits.md"))
DECISIONS = ROOT / "docs" / "decisions"
_MARKER = re.compile(r'mark\.requirement\("([^"]+)"\)')


def proofs() -> dict[str, list[str]]:
    """The test files that claim each requirement."""
    found: dict[str, list[str]] = {}
    own = ROOT / "tests" / "test_requirements.py"  # its markers are examples
    for path in sorted(set((ROOT / "tests").rglob("test_*.py")) - {own}):
        for name in sorted(set(_MARKER.findall(path.read_text("utf-8")))):
            found.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    return found


def with_proofs(document: str) -> str:
    known = proofs()

    def renewed(section: re.Match[str]) -> str:
        files = known.get(section["name"], [])
        links = ", ".join(f"[{file}](../{file})" for file in files)
        return f"{section['before']}Shown by: {links}".rstrip()

    pattern = r"(?P<before>^### (?P<name>\w+) (?:(?!^### |^Shown by:).*\n)*)Shown by:.*$"
    return re.sub(pattern, renewed, document, flags=re.MULTILINE)


def render_decisions() -> str:
    """The index: every record by its number and title."""
    rows = [f"| [{path.name}]({path.name}) | {_title(path)} |" for path in sorted(DECISIONS.glob("[0-9]*.md"))]
    head = (DECISIONS / "README.md").read_text("utf-8").partition("|---|---|\n")[0]
    return "\n".join([f"{head}|---|---|", *rows, ""])


def _title(path: Path) -> str:
    first = path.read_text("utf-8").partition("\n")[0]
    return re.sub(r"^#\s*\d+\s*[.:·]\s*", "", first).strip()


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_proofs(page.read_text("utf-8")), "utf-8")
    (DECISIONS / "README.md").write_text(render_decisions(), "utf-8")
