"""A back office as an MCP server: domains, services over a database, and handlers that only ever speak to services."""
