"""The subcommands of `manage.py handfast`, one file each."""
