"""Tests that mirror src/handfast/gateway/sessions."""
