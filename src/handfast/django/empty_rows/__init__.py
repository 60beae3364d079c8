"""Empty rows that wrapped calls left behind: the rule for each model, the search, and the removal of confirmed rows."""
