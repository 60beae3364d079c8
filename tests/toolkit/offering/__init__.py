"""Tests that mirror src/handfast/toolkit/offering."""
