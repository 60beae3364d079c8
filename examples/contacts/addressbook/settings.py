"""Settings of the project. Everything it keeps is in one folder: CONTACTS_STATE, or .state beside manage.py."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

BASE_DIR = Path(__file__).parents[1]
STATE = Path(os.environ.get("CONTACTS_STATE") or BASE_DIR / ".state").resolve()
STATE.mkdir(parents=True, exist_ok=True)


def kept_secret(file: Path) -> str:
    """A key made at the first start: none is in the repository, and sessions outlive a restart."""
    if not file.exists():
        made = file.with_name(f"{file.name}.{os.getpid()}")
        made.touch(0o600)
        made.write_text(secrets.token_urlsafe(50))
        # In one step, and whole: of two first starts at once, both go on with the key of one.
        with suppress(FileExistsError):
            os.link(made, file)
        made.unlink()
    return file.read_text()


SECRET_KEY = os.environ.get("CONTACTS_SECRET_KEY") or kept_secret(STATE / "secret_key")
DEBUG = os.environ.get("CONTACTS_DEBUG", "") not in ("", "0")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "handfast.django",
    "addressbook",
    "contacts",
    "dcim",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "addressbook.urls"
WSGI_APPLICATION = "addressbook.wsgi.application"
ASGI_APPLICATION = "addressbook.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# SQLite in the state folder; with CONTACTS_DATABASE=postgresql the server that PGHOST, PGUSER and PGDATABASE lead to.
SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": STATE / "contacts.db",
    # Writers wait for each other instead of failing where two transactions begin with a read.
    "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
}
POSTGRESQL = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE", "contacts")}
DATABASES = {"default": {"sqlite": SQLITE, "postgresql": POSTGRESQL}[os.environ.get("CONTACTS_DATABASE", "sqlite")]}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.BasicAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.DjangoModelPermissions"],
    "DEFAULT_PAGINATION_CLASS": "addressbook.pages.Pages",
    "DEFAULT_FILTER_BACKENDS": [
        "django_filters.rest_framework.DjangoFilterBackend",
        "rest_framework.filters.SearchFilter",
        "rest_framework.filters.OrderingFilter",
    ],
}

HANDFAST = {
    "NAME": "contacts",
    "INSTRUCTIONS": "People and machine rooms. Look a record up before you change it."
    " Companies, tags, sites and types of devices can be named instead of numbered.",
    "DISPATCHERS": "resources",
    "ACTIVITY": STATE / "activity",
}
