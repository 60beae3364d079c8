"""Rows that a call names instead of sending their ids."""
