"""The life of one call."""
