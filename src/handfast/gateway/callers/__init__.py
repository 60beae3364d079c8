"""Identifies callers, and keeps ids, states and held calls that are good for one caller alone."""
