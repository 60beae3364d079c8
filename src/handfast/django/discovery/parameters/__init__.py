"""The parameters of a path and of a query: path arguments, filters, pages."""
