"""One call of a tool of ours, from its arguments to its answer, and what it needs on the way."""
