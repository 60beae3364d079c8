"""Relays of a client's bytes to the server's own transport, where the eras fit: HTTP, a process, our own stdio."""
