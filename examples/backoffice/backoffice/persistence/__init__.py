"""Where the back office keeps things: one SQLite file, a small file of code for each table. Only services come here."""
