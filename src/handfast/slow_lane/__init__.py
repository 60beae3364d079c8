"""A worker process for schemas that are too heavy to run in place."""
