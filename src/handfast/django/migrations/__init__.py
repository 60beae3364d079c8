"""The migrations of the adapter's tables. A released migration is never changed."""
