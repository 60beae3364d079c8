"""Many actions behind one tool: what may be sent, what was asked for, and how it is described."""
