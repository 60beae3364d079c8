"""Adapters that put servers of other frameworks under the contract: one file for each, and their shared judge."""
