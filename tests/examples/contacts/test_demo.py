"""`manage.py demo`: one command from nothing to a served project, as often as one likes."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx2

from tests.demo import ROOT
from tests.examples.contacts.running import EXAMPLE, Project, serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def status(url: str, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return httpx2.post(f"{url}/mcp/", json=PING, headers=headers).status_code


def test_what_it_prints_is_all_that_a_client_needs(tmp_path: Path) -> None:
    with serving(Project(tmp_path)) as served:
        assert served.snippet == {
            "mcpServers": {
                "contacts": {
                    "type": "http",
                    "url": f"{served.url}/mcp/",
                    "headers": {"Authorization": f"Bearer {served.token('agent')}"},
                }
            }
        }
        assert {status(served.url, served.token(user)) for user in ("admin", "agent")} == {200}
        assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_a_second_start_keeps_the_rows_and_gives_new_tokens(tmp_path: Path) -> None:
    project = Project(tmp_path)
    with serving(project) as first:
        key = (tmp_path / "secret_key").read_text()
        before = project.everything()
    with serving(project) as second:
        assert project.everything() == before
        assert (tmp_path / "secret_key").read_text() == key
        assert (status(second.url, first.token("agent")), status(second.url, second.token("agent"))) == (401, 200)


def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path) -> None:
    with serving(Project(tmp_path)) as served:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(30) == 0
    assert "Traceback" not in (tmp_path / "server.log").read_text()


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with serving(Project(tmp_path)) as served:
        command = [sys.executable, str(EXAMPLE / "manage.py"), "demo", served.url.removeprefix("http://")]
        project = Project(tmp_path / "other")
        done = subprocess.run(
            command, env=project.environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Error: That port is already in use.\n")
