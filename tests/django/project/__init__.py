"""A small Django project with a bit of everything that a REST framework API can have."""
