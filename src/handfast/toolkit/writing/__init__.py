"""What an author writes tools with: arguments, calls, replies, both forms of tools, and checks for handlers."""
