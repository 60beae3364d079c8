"""manage.py demo and manage.py seed."""
