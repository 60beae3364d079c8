"""Tests of the system checks."""
