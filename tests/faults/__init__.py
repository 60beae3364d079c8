"""Upstreams that misbehave, as real processes over every transport."""
