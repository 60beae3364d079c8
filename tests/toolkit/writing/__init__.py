"""Tests that mirror src/handfast/toolkit/writing."""
