"""Tests that mirror src/handfast/django/service."""
