"""One file per command; the composition root."""
