"""The example with Django: contacts and machine rooms."""
