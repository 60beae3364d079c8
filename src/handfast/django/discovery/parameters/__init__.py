"""What a path and a query may hold: places, filters, pages."""
