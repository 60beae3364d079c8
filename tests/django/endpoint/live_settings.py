"""The project as it is served to real clients: stock middleware, and its tables in a file."""

import os
from pathlib import Path

from tests.django.project.settings import *  # noqa: F403 - settings are extended in this way

_FOLDER = Path(os.environ["HANDFAST_LIVE_FOLDER"])

ROOT_URLCONF = "tests.django.endpoint.urls"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(_FOLDER / "db.sqlite3")}}
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
HANDFAST = {"NAME": "live", "VERSION": "1.2", "INSTRUCTIONS": "Be kind.", "ACTIVITY": str(_FOLDER / "activity")}
