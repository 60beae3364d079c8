"""What a call is held to: its arguments, its result, how firmly, and the record of it."""
