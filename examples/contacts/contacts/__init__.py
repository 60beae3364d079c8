"""Contacts: people, the companies they work for, and their tags."""
