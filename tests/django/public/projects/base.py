"""What the projects have in common: stock middleware, and tables in the folder or the database that they are told."""

import os

DATABASE = os.environ["PUBLIC_DATABASE"]
FOLDER = os.environ["PUBLIC_FOLDER"]

SECRET_KEY = "for tests only"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
USE_TZ = True
TIME_ZONE = "UTC"
SITE_ID = 1
STATIC_URL = "/static/"
MEDIA_URL = "/media/"
MEDIA_ROOT = f"{FOLDER}/media"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {
    "sqlite": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/db.sqlite3"}},
    # Where the server is and who asks, PostgreSQL's own client reads from PGHOST and PGUSER.
    "postgresql": {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE", "")}},
}[DATABASE]


class _OnlyOurs:
    """Tables come from the models, in a second instead of a quarter of a minute; only handfast's are migrated."""

    def __contains__(self, label: str) -> bool:
        return label != "handfast"

    def __getitem__(self, label: str) -> None:
        return None


MIGRATION_MODULES = _OnlyOurs()
DJANGO_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.flatpages",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.sites",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
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
HANDFAST: dict[str, object] = {"ACTIVITY": "off"}
