"""A darkroom as an MCP server: pictures, edits with a history, and a renderer of its own."""
