"""Settings of the help desk, without the teams that need one more package."""

from tests.django.public.projects.base import *  # noqa: F403 - settings are extended in this way
from tests.django.public.projects.base import DJANGO_APPS

ROOT_URLCONF = "tests.django.public.projects.helpdesk.urls"
INSTALLED_APPS = [*DJANGO_APPS, "rest_framework", "helpdesk", "handfast.django"]
HELPDESK_ACTIVATE_API_ENDPOINT = True
HELPDESK_TEAMS_MODE_ENABLED = False
HELPDESK_TEAMS_MODEL = "auth.User"
HELPDESK_TEAMS_MIGRATION_DEPENDENCIES: list[str] = []
HELPDESK_KBITEM_TEAM_GETTER = None
