"""The adapter's tables, step by step. What is released is never changed."""
