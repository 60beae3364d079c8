"""A shop: django-oscar with django-oscar-api, whose API is generic views."""
