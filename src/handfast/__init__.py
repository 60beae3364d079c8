"""handfast: a firm contract between agents and their tools."""
