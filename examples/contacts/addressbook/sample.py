"""Sample data: the same rows every time, and never a second time."""

import datetime
import uuid
from typing import Final

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from contacts.models import Company, Contact, PhoneNumber, Tag
from dcim.models import Device, DeviceType, Site

# What an agent left behind that wrapped its fields in "data" before there was a contract: rows with nothing in them.
LEFT_BEHIND: Final = (
    "6b7e67eb-1f0c-4a53-9d0e-5c1c3f6f2a01",
    "c123f361-7d52-4d0b-8a44-0f6b2f8f9e02",
    "b1b58efa-52a9-4c1d-b6a7-93d1f7c4aa03",
)
AGENTS: Final = "Agents"

COMPANIES = {
    "Analytical Engines": "https://engines.example",
    "Compiler Works": "https://compilers.example",
    "Orbit & Co": "https://orbit.example",
}
# email, first name, last name, status, company, tags, number
PEOPLE = (
    ("ada@engines.example", "Ada", "Lovelace", "customer", "Analytical Engines", ("press", "vip"), "+44 20 5550 1815"),
    ("charles@engines.example", "Charles", "Babbage", "partner", "Analytical Engines", (), "+44 20 5550 1791"),
    ("grace@compilers.example", "Grace", "Hopper", "customer", "Compiler Works", ("vip",), "+1 202 555 0106"),
    ("jean@compilers.example", "Jean", "Sammet", "lead", "Compiler Works", ("press",), ""),
    ("katherine@orbit.example", "Katherine", "Johnson", "partner", "Orbit & Co", ("vip",), "+1 757 555 0118"),
    ("margaret@orbit.example", "Margaret", "Hamilton", "customer", "Orbit & Co", (), "+1 617 555 0136"),
    ("radia@example.net", "Radia", "Perlman", "lead", None, (), ""),
    ("", "Edsger", "Dijkstra", "lead", None, ("letters-only",), ""),
)
# name, region, address
SITES = (
    ("hq-1", "north", "1 Harbour Street"),
    ("hq-2", "north", "2 Harbour Street"),
    ("lab-1", "south", "14 Mill Lane"),
)
# Two makers sell the same model: its name alone does not say which is meant.
TYPES = (("Juniper", "EX4300", 1), ("Dell", "R760", 2), ("APC", "SMT2200", 2), ("Schneider", "SMT2200", 2))
# name, site, type, status, serial, price, installed
DEVICES = (
    ("sw-1", "hq-1", "EX4300", "active", "JN-0001", "2150.00", datetime.date(2025, 3, 3)),
    ("sw-2", "hq-1", "EX4300", "active", "JN-0002", "2150.00", datetime.date(2025, 3, 3)),
    ("db-1", "hq-1", "R760", "active", "DL-0107", "8900.00", datetime.date(2025, 6, 17)),
    ("ups-1", "hq-1", "SMT2200", "active", "AP-0031", "1190.00", datetime.date(2024, 11, 5)),
    ("sw-1", "hq-2", "EX4300", "planned", "", None, None),
    ("web-1", "lab-1", "R760", "offline", "DL-0112", "7400.00", datetime.date(2025, 9, 1)),
    ("old-1", "lab-1", "R760", "retired", "DL-0009", "5200.00", datetime.date(2019, 1, 14)),
)


@transaction.atomic
def add_sample() -> None:
    """Rows that are there already stay as they are."""
    _add_people()
    _add_devices()
    for left in LEFT_BEHIND:
        Contact.objects.get_or_create(id=left)


def _add_people() -> None:
    for name, website in COMPANIES.items():
        Company.objects.get_or_create(name=name, defaults={"website": website})
    for email, first, last, status, company, tags, number in PEOPLE:
        works_for = Company.objects.get(name=company) if company else None
        known = {"email": email, "first_name": first, "last_name": last, "status": status, "company": works_for}
        key = uuid.uuid5(uuid.NAMESPACE_URL, f"contact:{first} {last}")
        contact, is_new = Contact.objects.get_or_create(id=key, defaults=known)
        if is_new:
            contact.tags.set(Tag.objects.get_or_create(name=tag)[0] for tag in tags)
            if number:
                PhoneNumber.objects.create(contact=contact, number=number)


def _add_devices() -> None:
    for name, region, address in SITES:
        Site.objects.get_or_create(name=name, defaults={"region": region, "address": address})
    for manufacturer, model, height in TYPES:
        DeviceType.objects.get_or_create(manufacturer=manufacturer, model=model, defaults={"height": height})
    for name, site, model, status, serial, price, installed in DEVICES:
        known = {"status": status, "serial": serial, "price": price, "installed": installed}
        kind = DeviceType.objects.filter(model=model).order_by("manufacturer")[0]
        Device.objects.get_or_create(
            name=name, site=Site.objects.get(name=site), defaults={"device_type": kind, **known}
        )


def add_users() -> None:
    """`admin` may everything. `agent` may look, add and change, but not delete, and neither has a password yet."""
    User.objects.get_or_create(username="admin", defaults={"is_staff": True, "is_superuser": True})
    agent, _ = User.objects.get_or_create(username="agent")
    group, _ = Group.objects.get_or_create(name=AGENTS)
    ours = Permission.objects.filter(content_type__app_label__in=("contacts", "dcim"))
    group.permissions.set(ours.exclude(codename__startswith="delete_"))
    agent.groups.add(group)
