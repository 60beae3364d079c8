"""One of the projects as a process: its tables are made and filled, it says where it listens, and it serves.

python -m tests.django.public.process NAME, in the environment of the applications.
"""

import importlib
import json
import os
import sys
from typing import Any  # Any: JSON, and a manager of whatever users there are


def main(name: str) -> None:
    project = f"tests.django.public.projects.{name}"
    os.environ["DJANGO_SETTINGS_MODULE"] = f"{project}.settings"

    import django
    from django.core.management import call_command
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    importlib.import_module(f"{project}.rows").fill()
    server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
    server.set_app(get_wsgi_application())
    print(json.dumps({"port": server.server_port, "tokens": _tokens(), "problems": _problems()}), flush=True)
    server.serve_forever()


def _tokens() -> dict[str, str]:
    from django.contrib.auth import get_user_model

    from handfast.django.access import tokens

    users: Any = get_user_model()._default_manager
    ada = users.create_superuser("ada", "ada@example.com")
    return {name: tokens.issue(ada, name=name, scopes=scopes)[1] for name, scopes in (("all", "*"), ("read", "*:read"))}


def _problems() -> list[list[Any]]:
    """What discovery has to say, by name and place."""
    from handfast.django.discovery import survey

    return [[found.id.name, found.where] for found in survey().problems]


if __name__ == "__main__":
    main(sys.argv[1])
