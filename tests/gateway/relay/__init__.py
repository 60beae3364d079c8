"""Tests that mirror src/handfast/gateway/relay."""
