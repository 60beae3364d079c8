"""Many actions behind one tool, the dispatcher: checking its arguments, reading them, and describing it."""
