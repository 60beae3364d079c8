"""Hold the limits of the house: sizes, names, and what only one place may do. Prints what breaks them."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SRC: Final = ROOT / "src" / "handfast"

MOST_MODULES = 16  # of a folder: as many as can be taken in at once
MOST_LINES = 500  # of a module
MOST_FUNCTION_LINES = 45
SMALL = 60  # lines; a smaller file with one importer, or none, is a part of its reader or says why not
SMALL_FOR_A_REASON: Final = {
    "django/apps.py": "Django looks for it by this name",
    "django/urls.py": "what a project includes, by this name",
    "gateway/calls/learnt_lists.py": "what a list teaches, apart from the pairing of messages",
    "gateway/eager_start.py": "when servers start, a few at a time, which needs none of them",
    "gateway/edge/trusted_hosts.py": "a rule about pages and hosts that needs no application",
    "gateway/relay/list_notices.py": "a rule about notifications that needs no process; its reader has 400 lines",
    "gateway/settings/environment.py": "one of the three sources of settings, beside the file and the defaults",
    "gateway/settings/on_disk.py": "looks at this machine, which reading settings does not",
    "gateway/settings/reference.py": "run by itself, to write the documents",
    "gateway/settings/variables.py": "what `${NAME}` means, which needs no settings",
    "gateway/translate/clients/input_rounds.py": "a loop of its own; its reader has 300 lines",
    "gateway/translate/compact/help.py": "pure texts that a model reads, beside a backend that waits",
    "gateway/translate/compact/offer.py": "pure texts that a model reads, beside a backend that waits",
    "gateway/translate/servers/inbox.py": "a queue with bounds of its own, beside the rules for answers",
    "gateway/wrap_bridge.py": "builds what `wrap` runs, which is for the gateway and not for a command",
    "toolkit/serve/telemetry.py": "imports what only some releases of the SDK have",
    "gateway/admission/request_rate.py": "a bound beside the other bounds, where it is looked for",
}
# Constructed in gateway/build.py, so that how the parts of a server fit together is read in one place.
COMPOSED: Final = frozenset(
    (
        "AllServers",
        "CombinedBackend",
        "CompactBackend",
        "HttpRelay",
        "HttpSessions",
        "JudgedServer",
        "LegacyFront",
        "LegacyServer",
        "ModernFront",
        "ModernServer",
        "NativeServer",
        "ServerEndpoint",
        "StdioRelay",
        "StdioSessions",
    )
)
COMPOSER: Final = "gateway/build.py"


def read_modules() -> dict[str, tuple[str, ast.Module]]:
    """Every module with its text, by its path below src/handfast."""
    texts = {path.relative_to(SRC).as_posix(): path.read_text("utf-8") for path in sorted(SRC.rglob("*.py"))}
    return {name: (text, ast.parse(text)) for name, text in texts.items()}


def find_crowded_folders(modules: dict[str, tuple[str, ast.Module]]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for name in modules:
        folder, _, file = name.rpartition("/")
        counts[folder] = counts.get(folder, 0) + (file != "__init__.py")
    for folder, count in counts.items():
        if count > MOST_MODULES:
            yield f"{folder}: {count} modules, at most {MOST_MODULES}; sort them into folders by what they do"


def find_long_ones(modules: dict[str, tuple[str, ast.Module]]) -> Iterator[str]:
    for name, (text, tree) in modules.items():
        if (lines := text.count("\n")) > MOST_LINES:
            yield f"{name}: {lines} lines, at most {MOST_LINES}"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    yield f"{name}:{node.lineno}: {node.name} has {lines} lines, at most {MOST_FUNCTION_LINES}"


def find_doubled_classes(modules: dict[str, tuple[str, ast.Module]]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for name, (_, tree) in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name != "Meta":  # Django's own name for options of a model
                places.setdefault(node.name, []).append(name)
    for found, files in places.items():
        if len(files) > 1:
            yield f"class {found} is in {', '.join(files)}; give each a name of its own"


def find_crumbs(modules: dict[str, tuple[str, ast.Module]]) -> Iterator[str]:
    readers = find_importers(modules)
    small = {
        name
        for name, (text, _) in modules.items()
        if text.count("\n") < SMALL and len(readers[name]) <= 1 and not _is_found_by_name(name)
    }
    for name in sorted(small - SMALL_FOR_A_REASON.keys()):
        yield f"{name}: small, and no two modules import it; join it with its reader, or say here why not"
    for name in sorted(SMALL_FOR_A_REASON.keys() - small):
        yield f"{name} is gone or not small any more; take it out of SMALL_FOR_A_REASON"


def _is_found_by_name(name: str) -> bool:
    """Packages, and what Django finds by where it is."""
    return name.endswith(("__init__.py", "__main__.py")) or name.startswith(
        ("django/migrations/", "django/management/")
    )


def find_importers(modules: dict[str, tuple[str, ast.Module]]) -> dict[str, set[str]]:
    """The modules that import each module."""
    found: dict[str, set[str]] = {name: set() for name in modules}
    for name, (_, tree) in modules.items():
        for node in ast.walk(tree):
            imported: list[str] = []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for each in imported:
                path = each.removeprefix("handfast").lstrip(".").replace(".", "/") + ".py"
                if each.startswith("handfast") and path in found and path != name:
                    found[path].add(name)
    return found


def find_scattered_composition(modules: dict[str, tuple[str, ast.Module]]) -> Iterator[str]:
    for name, (_, tree) in modules.items():
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for node in ast.walk(tree):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if called in COMPOSED - own and name != COMPOSER:
                yield f"{name}: constructs {called}, which only {COMPOSER} does"


CHECKS: Final = (find_crowded_folders, find_long_ones, find_doubled_classes, find_crumbs, find_scattered_composition)


def find_problems() -> list[str]:
    modules = read_modules()
    return [problem for check in CHECKS for problem in check(modules)]


if __name__ == "__main__":
    problems = find_problems()
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
