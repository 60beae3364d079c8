"""A driver for each client library, run by the Python of that library's own environment."""
