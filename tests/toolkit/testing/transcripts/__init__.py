"""Tests that mirror src/handfast/toolkit/testing/transcripts."""
