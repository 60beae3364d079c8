"""The adapter as a Django app: `"handfast.django"` in INSTALLED_APPS."""

from django.apps import AppConfig


class HandfastConfig(AppConfig):
    name = "handfast.django"
    label = "handfast"
    default_auto_field = "django.db.models.BigAutoField"
