"""Serving tools with the official SDK, over stdio and HTTP."""
