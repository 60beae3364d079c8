"""What an agent would see of a project, and what is wrong with it."""
