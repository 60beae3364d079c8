"""scripts/clients: a session of each of thirteen client libraries, through the gateway and beside it."""
