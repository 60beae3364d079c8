"""MCP messages as bytes: reading, writing and changing them. Pure."""
