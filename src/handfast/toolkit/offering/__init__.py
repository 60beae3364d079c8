"""The tools that a server offers: definitions, old names, lists of objects, dispatchers, help."""
