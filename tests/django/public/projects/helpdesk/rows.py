"""A queue for tickets, and a field that its people have added to them."""

from helpdesk.models import CustomField, Queue


def fill() -> None:
    Queue.objects.create(title="Support", slug="support")
    CustomField.objects.create(name="room", label="Room", data_type="varchar", max_length=20, required=False)
