"""Tools served by the official SDK, over stdio and HTTP."""
