"""Tests of finding empty rows and taking them away."""
