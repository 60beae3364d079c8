"""Tests that mirror src/handfast/toolkit/serve."""
