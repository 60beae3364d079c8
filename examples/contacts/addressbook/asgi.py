"""The project for a server that speaks ASGI."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "addressbook.settings")
application = get_asgi_application()
