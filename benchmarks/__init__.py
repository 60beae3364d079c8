"""The figures in the README, by one command: scripts/bench."""
