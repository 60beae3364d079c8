"""`manage.py handfast client-config` in a real project: stdout is JSON and nothing else."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from handfast.django.client_config import note, snippet
from tests.demo import HANDFAST
from tests.django.fresh_project import Ended, Project, make_project

URL = "http://shop.example/mcp/"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.mark.parametrize("client", ["claude", "stdio"])
def test_the_snippet_is_on_stdout_and_the_note_on_stderr(project: Project, client: str) -> None:
    ended = project.manage("handfast", "client-config", "--client", client)
    assert (ended.code, json.loads(ended.stdout)) == (0, snippet(client, "django", URL))
    assert ended.stderr == f"{note(client)}\n"


def test_the_url_and_the_name_are_the_projects_own(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("settings.py", 'DEBUG = False\nHANDFAST = {"NAME": "shop"}\nFORCE_SCRIPT_NAME = "/intranet"\n')
    said = json.loads(project.manage("handfast", "client-config").stdout)
    assert said == snippet("generic", "shop", "https://shop.example/intranet/mcp/")
    said = json.loads(project.manage("handfast", "client-config", "--url", "https://eu.shop.example").stdout)
    assert said == snippet("generic", "shop", "https://eu.shop.example/intranet/mcp/")


def test_a_token_is_read_and_not_asked_for_on_the_command_line(project: Project) -> None:
    ended = project.manage("handfast", "client-config", "--token", stdin="hf_secret\n")
    assert json.loads(ended.stdout) == snippet("generic", "django", URL, "hf_secret")
    refused = project.manage("handfast", "client-config", "--token", stdin="\n")
    assert refused == Ended(
        1, "", "CommandError: That is not a token. Paste the one that was shown when it was made.\n"
    )


@pytest.mark.parametrize(
    ("settings", "urls", "words", "said"),
    [
        (
            'ALLOWED_HOSTS = ["*"]\nDEBUG = False\n',
            "",
            [],
            "ALLOWED_HOSTS names no host to go to. Say it: --url https://example.com",
        ),
        ("", "", ["--url", "shop.example"], "--url is not an address. Write it whole, such as https://example.com"),
        (
            "",
            "urlpatterns.pop()\n",
            [],
            'No url leads to the MCP endpoint. Add path("mcp/", include("handfast.django.urls")) to urlpatterns.',
        ),
        (
            "",
            'urlpatterns[-1] = path("<slug:tenant>/mcp/", include("handfast.django.urls"))\n',
            [],
            "The endpoint's address has parameters in it. Say it whole: --url https://example.com/…",
        ),
    ],
)
def test_what_cannot_be_known_is_one_line(
    tmp_path: Path, settings: str, urls: str, words: list[str], said: str
) -> None:
    project = make_project(tmp_path)
    project.add("settings.py", settings)
    project.add("urls.py", urls)
    assert project.manage("handfast", "client-config", *words) == Ended(1, "", f"CommandError: {said}\n")


def test_a_whole_address_needs_no_url_of_the_projects(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.add("urls.py", "urlpatterns.pop()\n")
    ended = project.manage("handfast", "client-config", "--url", "https://gate.example/mcp/shop")
    assert json.loads(ended.stdout) == snippet("generic", "django", "https://gate.example/mcp/shop")


def test_what_is_printed_connects_a_real_client(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.add("settings.py", 'HANDFAST = {"ACTIVITY": "off"}\n')
    project.migrate()
    token = project.shell(
        "from django.contrib.auth.models import User; from handfast.django.access import issue;"
        " print(issue(User.objects.create_user('ada'), name='agent', scopes='django/contacts__*')[1])"
    )
    with project.served() as site:
        header = project.manage("handfast", "client-config", "--url", site)
        (tmp_path / "handfast.json").write_text(header.stdout, "utf-8")
        words = ("handfast", "client-config", "--client", "stdio", "--url", site, "--token")
        entry = json.loads(project.manage(*words, stdin=token).stdout)["mcpServers"]["django"]
        own = {"HANDFAST_CONFIG": str(tmp_path / "handfast.json"), "HANDFAST_STATE": str(tmp_path / "state")}
        server = StdioServerParameters(command=str(HANDFAST), args=entry["args"], env={**entry["env"], **own})

        async def names() -> list[str]:
            async with Client(server) as client:
                return [tool.name for tool in (await client.list_tools()).tools]

        listed = asyncio.run(names())
    seen = json.loads(project.manage("handfast", "doctor", "--as", "token:agent", "--json").stdout)["tools"]
    assert listed == [one["name"] for one in seen]
    assert len(listed) == 6
