"""The contract cases through the toolkit: an authored tool for each, and the very texts that the gateway has."""
