"""A Django project in a folder of its own, driven as its author would: `manage.py` in a process."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.demo import ROOT

# For the end of its urls: contacts a second time, of which the tools would have the same names.
COLLISION: Final = """
other = SimpleRouter()
other.register("contacts", views.ContactViewSet, basename="again")
urlpatterns += [path("v2/", include(other.urls))]
"""

_MANAGE: Final = """\
import os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""

_SETTINGS: Final = """\
SECRET_KEY = "for tests only"
DEBUG = True
ALLOWED_HOSTS = ["shop.example", "127.0.0.1"]
ROOT_URLCONF = "urls"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "handfast.django", "shop",
]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"]
REST_FRAMEWORK = {"DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"]}
"""

_MODELS: Final = """\
from django.db import models

class Contact(models.Model):
    email = models.EmailField(blank=True)
    first_name = models.CharField(max_length=40, blank=True)
    created = models.DateTimeField(auto_now_add=True)

class Company(models.Model):
    name = models.CharField(max_length=40)

class Order(models.Model):
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE)
    note = models.TextField(blank=True)

class Line(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE)
"""

_VIEWS: Final = """\
from rest_framework import serializers, viewsets
from shop.models import Company, Contact, Order

class ContactSerializer(serializers.ModelSerializer):
    class Meta:
        model = Contact
        fields = ("id", "email", "first_name", "created")

class CompanySerializer(serializers.ModelSerializer):
    class Meta:
        model = Company
        fields = ("id", "name")

class OrderSerializer(serializers.ModelSerializer):
    class Meta:
        model = Order
        fields = ("id", "contact", "note")

class ContactViewSet(viewsets.ModelViewSet):
    queryset = Contact.objects.all()
    serializer_class = ContactSerializer

class CompanyViewSet(viewsets.ModelViewSet):
    queryset = Company.objects.all()
    serializer_class = CompanySerializer

class OrderViewSet(viewsets.ModelViewSet):
    queryset = Order.objects.all()
    serializer_class = OrderSerializer
"""

_URLS: Final = """\
from django.urls import include, path
from rest_framework.routers import SimpleRouter
from shop import views

router = SimpleRouter()
router.register("contacts", views.ContactViewSet)
router.register("companies", views.CompanyViewSet)
router.register("orders", views.OrderViewSet)
urlpatterns = [path("api/", include(router.urls)), path("mcp/", include("handfast.django.urls"))]
"""

# Says its port, then serves.
_SERVE: Final = """
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
server.set_app(get_wsgi_application())
print(server.server_port, flush=True)
server.serve_forever()
"""

_FILES: Final = {
    "manage.py": _MANAGE,
    "settings.py": _SETTINGS,
    "urls.py": _URLS,
    "shop/__init__.py": "",
    "shop/models.py": _MODELS,
    "shop/views.py": _VIEWS,
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """A person's side of a terminal."""

    descriptor: int
    process: "subprocess.Popen[bytes]"

    @property
    def code(self) -> int:
        return self.process.wait(timeout=60)

    def read(self, until: str | None = None) -> str:
        """What is written, up to a text, or until the command has ended."""
        found = b""
        while until is None or until.encode() not in found:
            try:
                piece = os.read(self.descriptor, 4096)
            except OSError:  # how Linux says that nobody holds the other side any more
                break
            if not piece:
                break
            found += piece
        return found.decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self.descriptor, f"{text}\n".encode())


@dataclass(frozen=True, slots=True)
class Project:
    folder: Path

    def add(self, file: str, text: str) -> None:
        """Append to a file of the project."""
        path = self.folder / file
        path.write_text(path.read_text("utf-8") + text, "utf-8")

    @property
    def environment(self) -> Mapping[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "HANDFAST_"))}
        return {**own, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "PYTHONWARNINGS": "error"}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "manage.py", *words]

    def manage(self, *words: str, stdin: str = "") -> Ended:
        done = subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def on_terminal(self, *words: str) -> "Iterator[Terminal]":
        """The command with a terminal before it, as a person has one."""
        ours, theirs = pty.openpty()
        environment = {**self.environment, "TERM": "xterm-256color", "DJANGO_COLORS": ""}
        environment.pop("NO_COLOR", None)
        command = self.command(*words)
        with subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            try:
                yield Terminal(ours, process)
            finally:
                process.wait(timeout=60)
                os.close(ours)

    @contextmanager
    def served(self) -> Iterator[str]:
        """The site, at this address."""
        command = self.command("shell", "--no-imports", "-c", _SERVE)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, cwd=self.folder, env=self.environment, text=True, **pipes) as process:  # type: ignore[call-overload]  # the dict's values
            try:
                yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
            finally:
                process.terminate()

    def shell(self, code: str) -> str:
        """What a piece of Python prints in the project."""
        ended = self.manage("shell", "--no-imports", "-c", code)
        assert ended.code == 0, ended.stderr
        return ended.stdout.strip()

    def migrate(self) -> None:
        (self.folder / "db.sqlite3").write_bytes(_migrated())


@cache
def _migrated() -> bytes:
    """The database of a project that was migrated: every project has these models, and the same tables then."""
    with TemporaryDirectory() as folder:
        project = make_project(Path(folder))
        ended = project.manage("migrate", "--run-syncdb", "-v", "0")
        assert ended.code == 0, ended.stderr
        return (project.folder / "db.sqlite3").read_bytes()


def make_project(folder: Path) -> Project:
    """Contacts who may be empty, companies who may not, and orders that always belong to somebody."""
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return Project(folder)
