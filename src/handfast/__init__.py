"""handfast: a firm contract between agents and their tools."""

__version__ = "0.1.0"
