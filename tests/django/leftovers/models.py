"""Models with every kind of column that can be left alone."""

import uuid
from datetime import date
from decimal import Decimal

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models.functions import Now


def next_number() -> int:
    raise AssertionError("a default that counts is not called to look for rows")


class Remark(models.Model):
    """About a row of any kind."""

    # Without a constraint: tables of apps without migrations are made before those of apps that have some.
    kind = models.ForeignKey(ContentType, on_delete=models.CASCADE, db_constraint=False)
    row = models.CharField(max_length=40)
    about = GenericForeignKey("kind", "row")


class Label(models.Model):
    name = models.CharField(max_length=20)


class Enquiry(models.Model):
    """Nothing in it has to be said."""

    class Source(models.TextChoices):
        WEB = "web"
        PHONE = "phone"

    name = models.CharField(max_length=40, blank=True)
    email = models.EmailField(null=True, blank=True)
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.WEB)
    urgency = models.IntegerField(default=3)
    budget = models.DecimalField(max_digits=8, decimal_places=2, default=Decimal("0.00"))
    is_open = models.BooleanField(default=True)
    due = models.DateField(null=True, blank=True)
    answers = models.JSONField(default=dict, blank=True)
    extra = models.JSONField(null=True, blank=True)
    attachment = models.FileField(blank=True)
    labels = models.ManyToManyField(Label, blank=True)
    follows = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="followers")
    reference = models.UUIDField(default=uuid.uuid4)
    received = models.DateField(default=date.today)
    token = models.CharField(max_length=40, blank=True, editable=False)
    rank = models.IntegerField(null=True, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    remarks = GenericRelation(Remark, content_type_field="kind", object_id_field="row")

    objects = models.Manager["Enquiry"]()


class Answer(models.Model):
    enquiry = models.ForeignKey(Enquiry, on_delete=models.CASCADE)


class Bill(models.Model):
    enquiry = models.OneToOneField(Enquiry, on_delete=models.PROTECT)


class Person(models.Model):
    """Nobody is without a name, or so the serializer has it."""

    email = models.CharField(max_length=80)
    first_name = models.CharField(max_length=40)
    last_name = models.CharField(max_length=40, blank=True)


class Visit(models.Model):
    """Always of somebody."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE)
    note = models.TextField(blank=True)


class Ticket(models.Model):
    """Nothing in it tells whether somebody chose it."""

    code = models.UUIDField(default=uuid.uuid4)
    number = models.IntegerField(default=next_number)
    issued = models.DateTimeField(db_default=Now())
