"""The views of a project: where they are, what they can be asked, and asking them safely."""
