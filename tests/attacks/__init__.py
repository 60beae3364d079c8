"""Attempts to break what handfast promises, each of which must fail."""
