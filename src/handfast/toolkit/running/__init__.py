"""One call of a toolkit tool, from its arguments to its answer, with the parts that this needs."""
