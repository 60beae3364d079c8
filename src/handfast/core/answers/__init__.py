"""The end of a toolkit tool's call: outcomes, error codes, envelopes, and results in pieces."""
