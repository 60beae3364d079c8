"""Texts for people and models, without a caller's values and without characters that can control a terminal."""
