"""What `manage.py handfast` can do, one file each."""
