"""Tests that mirror src/handfast/gateway/translate/servers."""
