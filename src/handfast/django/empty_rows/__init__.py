"""Rows that a wrapped call left behind: which they could be, which they are, and taking away the ones confirmed."""
