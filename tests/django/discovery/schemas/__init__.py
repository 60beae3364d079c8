"""Tests that mirror src/handfast/django/discovery/schemas."""
