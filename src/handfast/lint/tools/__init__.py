"""Checks of tool definitions."""
