"""Tests of who calls and what they may."""
