"""One tool in place of all of a server's."""
