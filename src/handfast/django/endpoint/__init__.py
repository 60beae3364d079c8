"""The endpoint: MCP over Streamable HTTP as one synchronous view, for clients of both eras, under WSGI and ASGI."""

from handfast.django.endpoint.view import endpoint

__all__ = ["endpoint"]
