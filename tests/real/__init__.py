"""Real servers and real clients with the gateway between them: whatever works without it works with it."""
