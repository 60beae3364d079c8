"""Tests that mirror src/handfast/gateway/callers."""
