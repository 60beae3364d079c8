"""Tests that mirror src/handfast/toolkit/running."""
