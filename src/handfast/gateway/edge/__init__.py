"""The HTTP edge: connections from clients, within bounds, each request handed on as an HttpExchange."""
