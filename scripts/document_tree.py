"""Write docs/files.md anew: every file with the line it opens with.

python scripts/document_tree.py
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "files.md"
BEGIN, END = "<!-- tree: made from the files -->", "<!-- /tree -->"
# From the top layer down, as pyproject.toml has them; a folder that is not listed here comes last.
LAYERS = ("cli", "django", "gateway", "catalog", "activity", "slow_lane", "wire", "core")


def opening_line(path: Path) -> str:
    """What a file says of itself: the first line of its docstring, or a script's first comment."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    comments = (line for line in text.splitlines() if line.startswith("# "))
    return next(comments, "").removeprefix("# ")


def render_tree() -> str:
    package = ROOT / "src" / "handfast"
    folders = sorted((folder for folder in package.iterdir() if (folder / "__init__.py").exists()), key=_layer)
    lines = _section("src/handfast/", sorted(package.glob("*.py")))
    for folder in folders:
        lines += _section(f"src/handfast/{folder.name}/", sorted(folder.glob("*.py")))
        for inner in sorted(path.parent for path in folder.rglob("*/__init__.py")):
            lines += _section(f"src/handfast/{inner.relative_to(package).as_posix()}/", sorted(inner.glob("*.py")))
    lines += _section("conformance/", sorted((ROOT / "conformance").glob("*.py")))
    for folder in sorted({path.parent for path in (ROOT / "examples").rglob("*.py")}):
        lines += _section(f"{folder.relative_to(ROOT).as_posix()}/", sorted(folder.glob("*.py")))
    lines += _section("scripts/", sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file()))
    return "\n".join(["```", *lines, "```"])


def with_tree(document: str) -> str:
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_tree()}\n\n{END}{after}"


def _layer(folder: Path) -> tuple[int, str]:
    return (LAYERS.index(folder.name) if folder.name in LAYERS else len(LAYERS)), folder.name


def _section(title: str, files: list[Path]) -> list[str]:
    width = max(len(path.name) for path in files)
    own = next((opening_line(path) for path in files if path.name == "__init__.py"), "")
    shown = [f"  {path.name:<{width}}  {opening_line(path)}" for path in files if path.name != "__init__.py"]
    return [f"{title}  {own}".rstrip(), *shown, ""]


if __name__ == "__main__":
    PAGE.write_text(with_tree(PAGE.read_text("utf-8")), "utf-8")
