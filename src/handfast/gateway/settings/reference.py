"""The reference tables of docs/settings.md, made from the code; run as a module, this renews the documents."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from handfast.gateway.settings.check import describe_type
from handfast.gateway.settings.keys import BLOCKS, SERVER_KEYS, TOP_KEYS, Key
from handfast.gateway.settings.schema import render_schema

BEGIN = "<!-- reference: made from the code -->"
END = "<!-- end of the reference -->"


def render_reference() -> str:
    """Every setting with its default, values, variable and meaning, in Markdown."""
    parts = [_section(f"`{name}`", keys, has_variables=True) for name, keys in BLOCKS.items()]
    parts.append(_section("Beside the blocks", TOP_KEYS, has_variables=True))
    parts.append(_section("A server's `handfast` block", SERVER_KEYS, has_variables=False))
    return "\n\n".join(parts)


def with_reference(document: str) -> str:
    """The document with the tables between its two marks renewed."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_reference()}\n\n{END}{after}"


def _section(title: str, keys: Mapping[str, Key], *, has_variables: bool) -> str:
    heads = ["key", "default", "value", *(["variable"] if has_variables else []), "meaning"]
    rows = [_row(key, has_variable=has_variables) for key in keys.values()]
    return "\n".join([f"### {title}", "", _line(heads), _line("---" for _ in heads), *rows])


def _row(key: Key, *, has_variable: bool) -> str:
    default = json.dumps(sorted(key.default) if isinstance(key.default, frozenset | tuple) else key.default)
    variable = [f"`{key.variable}`"] if has_variable else []
    return _line([f"`{key.name}`", f"`{default}`", describe_type(key), *variable, key.description])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    docs = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    settings_page = docs / "settings.md"
    settings_page.write_text(with_reference(settings_page.read_text("utf-8")), "utf-8")
    (docs / "handfast.schema.json").write_text(render_schema(), "utf-8")
