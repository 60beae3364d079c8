"""A project around each application: its settings, its urls, and what is in its tables from the beginning."""
