"""The gateway: upstreams, the HTTP edge, the stdio wrapper, settings."""
