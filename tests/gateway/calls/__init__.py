"""Tests that mirror src/handfast/gateway/calls."""
