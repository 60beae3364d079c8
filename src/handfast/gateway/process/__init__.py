"""The pipes to servers that have one line: processes, and streams of events; and the channel on each."""
