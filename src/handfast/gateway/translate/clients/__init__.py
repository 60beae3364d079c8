"""Clients of either era in front of a backend, over HTTP and stdio."""
