"""Where Django looks for commands: one, `handfast`."""
