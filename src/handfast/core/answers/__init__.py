"""How a tool of ours ends: outcomes, error codes, envelopes, and results in pieces."""
