"""Tests that mirror src/handfast/django/inspect."""
