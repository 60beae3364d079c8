"""The official MCP conformance suite, run against a server directly and behind handfast, compared check by check."""
