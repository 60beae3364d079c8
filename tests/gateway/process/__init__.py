"""Tests that mirror src/handfast/gateway/process."""
