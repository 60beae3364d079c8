"""One call: the rules for its arguments and result, its policy, its caller and its record."""
