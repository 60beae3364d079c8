"""What a server offers of its tools: definitions, old names, lists of objects, dispatchers, help."""
