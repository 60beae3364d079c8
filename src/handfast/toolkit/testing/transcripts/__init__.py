"""Sessions recorded as lines of JSON, and replayed."""
