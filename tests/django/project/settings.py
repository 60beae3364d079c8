"""Settings of the project that the tests of the adapter discover."""

import os

SECRET_KEY = "for tests only"
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "tests.django.project.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Where the server is and who asks, PostgreSQL's own client reads from PGHOST and PGUSER.
DATABASES = {
    "sqlite": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    "postgresql": {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE", "")}},
}[os.environ.get("HANDFAST_TEST_DATABASE", "sqlite")]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "rest_framework",
    "django_filters",
    "handfast.django",
    "tests.django.project",
    "tests.django.depot",
    "tests.django.leftovers",
]
MIDDLEWARE: list[str] = []
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
ALLOWED_HOSTS = ["*"]
REST_FRAMEWORK: dict[str, list[str]] = {"DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": []}
