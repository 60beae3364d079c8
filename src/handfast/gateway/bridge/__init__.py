"""Servers of either era as backends: handfast speaks to each in its own, and to the rest of the gateway in one form."""
