"""Models of the project: contacts, and sites with the devices in them."""

import uuid
from decimal import Decimal

from django.core.validators import MaxValueValidator, MinLengthValidator, RegexValidator
from django.db import models


class Contact(models.Model):
    class Status(models.TextChoices):
        NEW = "new", "Not called yet"
        KNOWN = "known", "Known"

    email = models.EmailField(unique=True, help_text="Where to write to")
    first_name = models.CharField(max_length=40)
    last_name = models.CharField(max_length=40, blank=True)
    notes = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.NEW)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("email",)

    def __str__(self) -> str:
        return self.email

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def initials(self):  # type: ignore[no-untyped-def]  # as many are written
        return self.first_name[:1] + self.last_name[:1]


class Profile(models.Model):
    contact = models.OneToOneField(Contact, on_delete=models.CASCADE)
    motto = models.CharField(max_length=80, null=True)


class Site(models.Model):
    name = models.CharField(max_length=40, unique=True)
    slug = models.SlugField(unique=True)
    region = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="parts")

    def __str__(self) -> str:
        return self.name


class Tag(models.Model):
    name = models.CharField(primary_key=True, max_length=20)


class Rack(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    label = models.CharField(max_length=10)


class Device(models.Model):
    class Weight(models.IntegerChoices):
        LIGHT = 1, "Light"
        HEAVY = 2, "Heavy"

    name = models.CharField(max_length=30, validators=[MinLengthValidator(2), RegexValidator(r"^[a-z0-9-]+\Z")])
    site = models.ForeignKey(Site, on_delete=models.CASCADE, related_name="devices", help_text="Where it stands")
    rack = models.ForeignKey(Rack, null=True, blank=True, on_delete=models.SET_NULL)
    tags = models.ManyToManyField(Tag, blank=True)
    weight = models.IntegerField(choices=Weight.choices, default=Weight.LIGHT)
    height = models.PositiveSmallIntegerField(default=1, validators=[MaxValueValidator(48)])
    price = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal("0.00"))
    bought = models.DateField(null=True, blank=True)
    racked = models.DateTimeField(null=True, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    picture = models.FileField(null=True, blank=True)
    is_on = models.BooleanField(default=False)

    class Meta:
        verbose_name = "network device"
