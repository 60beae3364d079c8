"""Generates arguments that meet a schema, and arguments that do not, from the schema itself."""
