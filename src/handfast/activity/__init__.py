"""The history: its chain of records, stores, queries and reports."""
