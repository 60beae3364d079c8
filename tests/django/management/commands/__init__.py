"""Tests of the commands for `manage.py`."""
