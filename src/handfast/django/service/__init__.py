"""The tools of a project as one service."""
