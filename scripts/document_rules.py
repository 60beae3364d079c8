"""Write the table of docs/rules.md again, from the catalogue.

python scripts/document_rules.py
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from handfast.core.call import rules

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"
_BEGIN, _END = "<!-- rules:begin -->\n", "<!-- rules:end -->\n"


class RuleEntry(NamedTuple):
    constant: str
    rule: str
    happened: str
    advice: str


def read_catalogue() -> Iterator[RuleEntry]:
    """Every constant with the text under it, which only exists in the source."""
    body = ast.parse(Path(rules.__file__).read_text("utf-8")).body
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                if name.isupper():
                    happened, _, advice = text.partition(". ")
                    yield RuleEntry(name, getattr(rules, name), happened, advice)


def render_table() -> str:
    rows = [
        f"| `{entry.rule}` | {'yes' if rules.is_refusal(entry.rule) else ''} | {entry.happened}. | {entry.advice} |"
        for entry in sorted(read_catalogue(), key=lambda entry: entry.rule)
    ]
    return "\n".join(["| rule | refusal | what happened | what to do |", "|---|---|---|---|", *rows, ""])


def with_table(page: str) -> str:
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}\n{render_table()}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
