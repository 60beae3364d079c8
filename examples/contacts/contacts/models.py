"""People, the companies they work for, and their tags."""

import uuid

from django.db import models


class NamedManager(models.Manager):
    """Rows that people know by their name."""

    def get_by_natural_key(self, name: str) -> models.Model:
        return self.get(name=name)


class Company(models.Model):
    name = models.CharField(max_length=80, unique=True)
    website = models.URLField(blank=True)

    objects = NamedManager()

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "companies"

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        return (self.name,)


class Tag(models.Model):
    name = models.SlugField(max_length=30, unique=True)

    objects = NamedManager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        return (self.name,)


class Contact(models.Model):
    """A person. Nothing is required: a name from a business card is worth keeping, and so is an address alone."""

    class Status(models.TextChoices):
        LEAD = "lead", "Lead"
        CUSTOMER = "customer", "Customer"
        PARTNER = "partner", "Partner"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(blank=True, help_text="Where to write to")
    first_name = models.CharField(max_length=60, blank=True)
    last_name = models.CharField(max_length=60, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.LEAD)
    company = models.ForeignKey(
        Company,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="contacts",
        help_text="Who they work for",
    )
    tags = models.ManyToManyField(Tag, blank=True, related_name="contacts")
    notes = models.TextField(blank=True)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("last_name", "first_name", "id")
        constraints = (
            models.UniqueConstraint(fields=["email"], condition=~models.Q(email=""), name="contact_email_once"),
        )

    def __str__(self) -> str:
        return self.full_name or self.email or str(self.id)

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


class PhoneNumber(models.Model):
    class Kind(models.TextChoices):
        WORK = "work", "Work"
        MOBILE = "mobile", "Mobile"
        HOME = "home", "Home"

    contact = models.ForeignKey(Contact, on_delete=models.CASCADE, related_name="phones")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.WORK)
    number = models.CharField(max_length=30)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.number} ({self.kind})"
