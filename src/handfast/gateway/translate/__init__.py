"""Everything that speaks the one inner form: clients of each era in front, servers of each era behind."""
