"""Clients of either era in front of a Backend: over HTTP, and on our own stdin and stdout."""
