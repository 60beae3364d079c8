"""Servers of either era behind the inner form, over HTTP and stdio."""
