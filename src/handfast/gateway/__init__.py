"""The gateway: upstreams, the ASGI app, the stdio wrapper, settings."""
