"""The commands, as an operator uses them."""
