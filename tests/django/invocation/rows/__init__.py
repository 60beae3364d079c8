"""Tests that mirror src/handfast/django/invocation/rows."""
