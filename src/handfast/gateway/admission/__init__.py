"""Whether and when a request may go on: places, room, a failing server's rest, the end of the gateway."""
