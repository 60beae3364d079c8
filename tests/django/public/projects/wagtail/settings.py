"""Settings of the site."""

from tests.django.public.projects.base import *  # noqa: F403 - settings are extended in this way
from tests.django.public.projects.base import DJANGO_APPS

ROOT_URLCONF = "tests.django.public.projects.wagtail.urls"
INSTALLED_APPS = [
    *("wagtail.contrib.forms", "wagtail.contrib.redirects", "wagtail.embeds", "wagtail.sites", "wagtail.users"),
    *("wagtail.snippets", "wagtail.documents", "wagtail.images", "wagtail.search", "wagtail.admin", "wagtail.api.v2"),
    *("wagtail", "modelcluster", "taggit", "rest_framework", "wagtail.test.demosite", "handfast.django", *DJANGO_APPS),
]
WAGTAIL_SITE_NAME = "Demonstration"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1"
