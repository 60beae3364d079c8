"""The folder where Django looks for commands: there is one, `handfast`."""
