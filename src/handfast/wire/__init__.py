"""How MCP says it: pure, on bytes."""
