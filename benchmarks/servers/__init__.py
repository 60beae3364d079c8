"""What is measured and what it stands in front of, each a process of its own."""
