"""Write anew the table of checks in docs/django-checks.md, from the catalogue.

python scripts/document_checks.py
"""

from pathlib import Path

from handfast.django.checks.catalogue import MEANINGS, level_of

PAGE = Path(__file__).parents[1] / "docs" / "django-checks.md"
_BEGIN, _END = "<!-- checks:begin -->\n", "<!-- checks:end -->\n"


def render_table() -> str:
    rows = [f"| `{check}` | {level_of(check)} | {meaning} |" for check, meaning in MEANINGS.items()]
    return "\n".join(["| id | level | what it means |", "|---|---|---|", *rows, ""])


def with_table(page: str) -> str:
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}\n{render_table()}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
