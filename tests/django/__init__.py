"""Tests of the Django adapter."""
