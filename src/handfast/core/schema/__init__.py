"""JSON Schema within bounds: compiled, weighed, judged by, and its violations in our own words."""
