"""Tests that mirror src/handfast/lint/sources."""
