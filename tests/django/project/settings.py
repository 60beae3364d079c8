"""Settings of the project that the tests of the adapter discover."""

SECRET_KEY = "for tests only"
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "tests.django.project.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "rest_framework",
    "django_filters",
    "tests.django.project",
]
MIDDLEWARE: list[str] = []
ALLOWED_HOSTS = ["*"]
REST_FRAMEWORK: dict[str, list[str]] = {"DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": []}
