"""Checks of Python sources."""
