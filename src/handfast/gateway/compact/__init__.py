"""The compact surface: one tool in front of all of a server's tools, so that they do not fill an agent's context."""
