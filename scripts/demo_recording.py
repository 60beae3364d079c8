"""Draw docs/img/caught.svg: real commands against the demo, as they look in a terminal.

python scripts/demo_recording.py [FILE.svg]
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "img" / "caught.svg"
COLUMNS = 118  # the refusal and a row of the table fit, and it is legible at the width of a page

CHARACTER, LINE, MARGIN, BAR = 8.0, 19, 18, 34  # pixels
PLAIN = "#d7dae0"
INKS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "1": "#ffffff", "2": "#8b949e"}

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
TITLE = "A wrapped call is refused, a broken result is put on record, and the chain verifies"

# What the reader sees typed, and what is run: the address and the folder of this run are left out of the picture.
SCENES = (
    ('call contacts create_contact \'{"data": {"email": "ada@example.com", "first_name": "Ada"}}\'', "--url"),
    ("call contacts list_contacts", "--url"),
    ("call contacts contact_stats", "--url"),
    ("activity list --type policy_decision", "--state"),
    ("activity verify", "--state"),
)

Run = tuple[str, str]  # ink, text


@contextmanager
def demo_gateway(folder: Path) -> Iterator[str]:
    """The demo as scripts/serve runs it, with a state folder of its own; gives its address."""
    command = [str(ROOT / "scripts" / "serve"), "--listen", "127.0.0.1:0", "--state", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(line.split()[-1] for line in process.stdout if " --url " in line)
        finally:
            process.terminate()


def run_in_terminal(command: str) -> str:
    """What the command prints when it speaks to a terminal: colours, and tables cut to fit."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=ROOT,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment | {"TERM": "xterm-256color"},
    )
    os.close(terminal)
    printed = b"".join(_chunks(control))
    process.wait()
    os.close(control)
    return printed.decode().replace("\r\n", "\n").rstrip("\n")


def _chunks(control: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(control, 65536)
        except OSError:  # how Linux says that the other side has closed
            return
        if not chunk:
            return
        yield chunk


def record() -> list[list[Run]]:
    """The lines of the picture."""
    lines: list[list[Run]] = []
    with tempfile.TemporaryDirectory() as folder, demo_gateway(Path(folder)) as url:
        for typed, flag in SCENES:
            where = url if flag == "--url" else folder
            printed = run_in_terminal(f".venv/bin/handfast {typed} {flag} {where}")
            lines += [[(INKS["32"], "$ "), (INKS["1"], f"handfast {typed}")]]
            lines += [_runs(line) for line in printed.split("\n")] + [[]]
    return lines[:-1]


def _runs(line: str) -> list[Run]:
    """A line of terminal output, cut where its colour changes."""
    runs: list[Run] = []
    ink = PLAIN
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            ink = INKS.get(part[2:-1], PLAIN)
        elif part:
            runs.append((ink, part))
    return runs


def render(lines: list[list[Run]]) -> str:
    width, height = round(COLUMNS * CHARACTER) + 2 * MARGIN, len(lines) * LINE + BAR + MARGIN
    rows = [
        # The length is set, so that columns stay in line whatever font the reader has.
        f'<text x="{MARGIN}" y="{BAR + LINE * (place + 1) - 4}"'
        f' textLength="{round(CHARACTER * sum(len(text) for _, text in runs))}" lengthAdjust="spacingAndGlyphs">'
        + "".join(f'<tspan fill="{ink}">{escape(text)}</tspan>' for ink, text in runs)
        + "</text>"
        for place, runs in enumerate(lines)
        if runs
    ]
    dots = "".join(
        f'<circle cx="{MARGIN + 4 + 20 * place}" cy="17" r="5.5" fill="{ink}"/>'
        for place, ink in enumerate((INKS["31"], INKS["33"], INKS["32"]))
    )
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{TITLE}">'
    typeface = f'<g font-family="{FONTS}" font-size="13.3" xml:space="preserve">'
    return "\n".join([opening, ground + dots, typeface, *rows, "</g>", "</svg>", ""])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(render(record()), "utf-8")
