"""Tests that mirror src/handfast/core/answers."""
