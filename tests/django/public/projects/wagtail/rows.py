"""The pages of the demonstration that comes with Wagtail."""

from django.core.management import call_command
from wagtail.models import Locale


def fill() -> None:
    Locale.objects.get_or_create(language_code="en-us")
    call_command("loaddata", "demosite.json", verbosity=0)
