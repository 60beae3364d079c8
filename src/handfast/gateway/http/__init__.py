"""HTTP on both sides: requests of clients, and the connections to servers."""
