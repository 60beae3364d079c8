"""Tests that mirror src/handfast/gateway/http."""
