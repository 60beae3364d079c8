"""What happened: records, the chain, stores, queries, reports."""
