"""Captured contracts: learnt, persisted, compiled, refreshed."""
