"""JSON Schema within bounds: compiling, weighing, judging values, and wording violations."""
