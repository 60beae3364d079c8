"""A site: Wagtail with the demonstration that comes with it, whose API has a router of its own."""
