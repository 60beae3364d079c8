"""The adapter as a Django app: `"handfast.django"` in INSTALLED_APPS."""

from django.apps import AppConfig


class HandfastConfig(AppConfig):
    name = "handfast.django"
    label = "handfast"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import handfast.django.checks  # noqa: F401 - importing them registers them
