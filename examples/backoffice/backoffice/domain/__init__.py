"""What the back office speaks of: records, their states, and what can be wrong. No database, no protocol."""
