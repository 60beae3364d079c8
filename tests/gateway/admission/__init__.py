"""Tests that mirror src/handfast/gateway/admission."""
