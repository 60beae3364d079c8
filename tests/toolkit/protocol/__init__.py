"""Tests that mirror src/handfast/toolkit/protocol."""
