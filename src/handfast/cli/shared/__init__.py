"""What several commands share: output, flags, running coroutines, and a session through a gateway."""
