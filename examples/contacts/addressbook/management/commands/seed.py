"""manage.py seed: sample data, and the users `admin` and `agent`."""

from typing import Any

from django.core.management.base import BaseCommand

from addressbook.sample import add_sample, add_users


class Command(BaseCommand):
    help = "Add sample data, and the users admin and agent. What is there already stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:  # Any: as Django calls it
        add_users()
        add_sample()
        self.stdout.write("Seeded.")
