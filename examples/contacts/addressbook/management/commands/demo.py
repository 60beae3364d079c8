"""manage.py demo: everything at once, from an empty folder to a served project with a token for an agent."""

import json
import secrets
from typing import Any

from django.contrib.auth.models import User
from django.contrib.staticfiles.management.commands.runserver import Command as RunServer
from django.core.management import call_command
from django.core.management.base import CommandParser

from addressbook.sample import add_sample, add_users
from handfast.django.access import issue
from handfast.django.client_config import snippet
from handfast.django.models import AgentToken

# What a user may is up to the user's own permissions; a token may be good for less.
SCOPES = {"agent": "contacts:read contacts:write", "admin": "contacts"}


class Command(RunServer):
    help = "Make the tables, add sample data, and serve: the admin site, the API, and the API as tools."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        # With the reloader everything here would happen twice; its own files are served whatever DEBUG is.
        parser.set_defaults(addrport="127.0.0.1:8000", use_reloader=False, insecure_serving=True, skip_checks=True)

    def handle(self, *args: Any, **options: Any) -> None:  # Any: as Django calls it
        call_command("migrate", verbosity=0)
        add_users()
        add_sample()
        self.password = _new_password("admin")
        self.tokens = {name: _new_token(name) for name in SCOPES}
        super().handle(*args, **options)

    def on_bind(self, server_port: int) -> None:
        url = f"http://{self.addr}:{server_port}"  # type: ignore[attr-defined]  # set by handle(); the stubs leave it out
        entry = snippet("generic", "contacts", f"{url}/mcp/", self.tokens["agent"])
        self.stdout.write(
            "Contacts and devices are served. Ctrl-C stops it.\n\n"
            f"  admin site  {url}/admin/  (user admin, password {self.password})\n"
            f"  API         {url}/api/v1/\n"
            f"  tools       {url}/mcp/\n\n"
            f"  token of agent  {self.tokens['agent']}  may look, add and change\n"
            f"  token of admin  {self.tokens['admin']}  may everything\n\n"
            "For the settings of a client:\n\n"
            f"{json.dumps(entry, indent=2)}\n"
        )
        self.stdout.flush()


def _new_password(username: str) -> str:
    user = User.objects.get(username=username)
    password = secrets.token_urlsafe(9)
    user.set_password(password)
    user.save()
    return password


def _new_token(username: str) -> str:
    """In place of the one from the last start, whose text nobody can show again."""
    AgentToken.objects.filter(name=f"demo-{username}").delete()
    return issue(User.objects.get(username=username), name=f"demo-{username}", scopes=SCOPES[username])[1]
