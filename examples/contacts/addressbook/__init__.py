"""The project: its settings, its urls, and the commands that fill and show it."""
