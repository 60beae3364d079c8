"""Who may: the tokens that callers show, the keys that sign them, and where both are kept."""
