"""A client's bytes to the server's own transport, where the eras fit: over HTTP, to a process, behind stdio."""
