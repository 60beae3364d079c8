"""Settings of the shop, with the API for those who run it."""

from oscar import INSTALLED_APPS as SHOP_APPS
from oscar.defaults import *  # noqa: F403 - as the shop documents it

from tests.django.public.projects.base import *  # noqa: F403 - settings are extended in this way
from tests.django.public.projects.base import HANDFAST as COMMON
from tests.django.public.projects.base import MIDDLEWARE as STOCK

ROOT_URLCONF = "tests.django.public.projects.oscar.urls"
INSTALLED_APPS = [*SHOP_APPS, "rest_framework", "oscarapi", "handfast.django"]
MIDDLEWARE = [*STOCK, "oscar.apps.basket.middleware.BasketMiddleware"]
AUTHENTICATION_BACKENDS = (
    "oscar.apps.customer.auth_backends.EmailBackend",
    "django.contrib.auth.backends.ModelBackend",
)
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
OSCAR_DEFAULT_CURRENCY = "EUR"
OSCARAPI_BLOCK_ADMIN_API_ACCESS = False
# Urls that say the same twice, and would give two tools one name.
ONCE_MORE = [
    "*.ProductAdminList.put",
    "*.ProductAdminList.patch",
    "/api/categories/{breadcrumbs}/",
    "/api/admin/categories/{breadcrumbs}/",
]
HANDFAST = {**COMMON, "NAME": "shop", "EXCLUDE": ONCE_MORE}
