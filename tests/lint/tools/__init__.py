"""Tests that mirror src/handfast/lint/tools."""
