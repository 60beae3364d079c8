"""manage.py demo: everything at once, from an empty folder to a served project."""

import secrets
from typing import Any

from django.contrib.auth.models import User
from django.contrib.staticfiles.management.commands.runserver import Command as RunServer
from django.core.management import call_command
from django.core.management.base import CommandParser

from addressbook.sample import add_sample, add_users


class Command(RunServer):
    help = "Make the tables, add sample data, and serve the admin site and the API."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        # With the reloader everything here would happen twice; its own files are served whatever DEBUG is.
        parser.set_defaults(addrport="127.0.0.1:8000", use_reloader=False, insecure_serving=True, skip_checks=True)

    def handle(self, *args: Any, **options: Any) -> None:  # Any: as Django calls it
        call_command("migrate", verbosity=0)
        add_users()
        add_sample()
        self.password = _new_password("admin")
        super().handle(*args, **options)

    def on_bind(self, server_port: int) -> None:
        url = f"http://{self.addr}:{server_port}"  # type: ignore[attr-defined]  # set by handle(); the stubs leave it out
        self.stdout.write(
            "Contacts and devices are served. Ctrl-C stops it.\n\n"
            f"  admin site  {url}/admin/  (user admin, password {self.password})\n"
            f"  API         {url}/api/v1/\n"
        )
        self.stdout.flush()


def _new_password(username: str) -> str:
    user = User.objects.get(username=username)
    password = secrets.token_urlsafe(9)
    user.set_password(password)
    user.save()
    return password
