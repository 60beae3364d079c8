"""Write anew the table of docs/faults.md, from the registry that the tests run.

python scripts/document_faults.py
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # started by path, `tests` is not importable otherwise

from tests.contracts.rig import ROUTES  # noqa: E402
from tests.faults.registry import FAULTS, Ending, Fault  # noqa: E402

PAGE = ROOT / "docs" / "faults.md"
_BEGIN, _END = "<!-- faults:begin -->\n", "<!-- faults:end -->\n"
_WORDS = {None: "result", -31001: "error", -31002: "timeout"}


def _row(fault: Fault) -> str:
    endings: list[Ending | None] = [fault.ends.get(route) for route in ROUTES]
    cells = [_WORDS[ending.code] if ending is not None else "·" for ending in endings]
    return f"| {fault.server} | {fault.handfast} | {' | '.join(cells)} | `{fault.name}` |"


def render_table() -> str:
    head = f"| the server | handfast | {' | '.join(ROUTES)} | test |"
    return "\n".join([head, "|---|---|" + "---|" * len(ROUTES) + "---|", *map(_row, FAULTS), ""])


def with_table(page: str) -> str:
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}\n{render_table()}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
