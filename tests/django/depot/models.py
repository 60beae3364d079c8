"""Models of the warehouse: depots, the shelves in them, the crates on those, and orders of crates."""

from decimal import Decimal

from django.conf import settings
from django.db import models


class Depot(models.Model):
    name = models.CharField(max_length=40, unique=True)
    slug = models.SlugField(unique=True)
    # No constraint: tables without migrations are made before those with.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, db_constraint=False
    )
    door_token = models.CharField(max_length=40, unique=True, null=True)
    rating = models.IntegerField(default=0)


class Shelf(models.Model):
    depot = models.ForeignKey(Depot, on_delete=models.CASCADE, related_name="shelves")
    label = models.CharField(max_length=10)

    class Meta:
        unique_together = (("depot", "label"),)
        verbose_name_plural = "shelves"


class Tag(models.Model):
    name = models.CharField(max_length=20)


class Crate(models.Model):
    code = models.CharField(max_length=20, unique=True)
    depot = models.ForeignKey(Depot, on_delete=models.CASCADE)
    shelf = models.ForeignKey(Shelf, null=True, blank=True, on_delete=models.CASCADE)
    tags = models.ManyToManyField(Tag, blank=True)
    is_sealed = models.BooleanField(default=True)
    weight = models.DecimalField(max_digits=6, decimal_places=2, default=Decimal(1))
    arrived = models.DateTimeField(null=True, blank=True)
    photo = models.FileField(null=True, blank=True)


class Order(models.Model):
    number = models.CharField(max_length=10, unique=True)


class Line(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    crate = models.ForeignKey(Crate, on_delete=models.CASCADE)
    quantity = models.PositiveIntegerField()


class Entry(models.Model):
    """What happened, written by views beside what they were asked for."""

    text = models.CharField(max_length=80)
