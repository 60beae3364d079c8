"""Servers written with other frameworks, put under the contract: a small file for each, and the judging they share."""
