"""Findings with stable ids: about tool definitions, and two checks of Python sources."""
