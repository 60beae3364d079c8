"""What an author writes: arguments, calls, replies, both forms of tools, and what handlers are helped with."""
