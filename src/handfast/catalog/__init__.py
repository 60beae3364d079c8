"""The catalog of tools' contracts: learning, storing, compiling and refreshing them."""
