"""All servers at once, behind `/mcp`: a Backend made of the Backends of the servers."""
