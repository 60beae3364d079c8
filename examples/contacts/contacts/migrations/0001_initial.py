"""The tables of contacts."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Company",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, unique=True)),
                ("website", models.URLField(blank=True)),
            ],
            options={
                "verbose_name_plural": "companies",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Tag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.SlugField(max_length=30, unique=True)),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Contact",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("email", models.EmailField(blank=True, help_text="Where to write to", max_length=254)),
                ("first_name", models.CharField(blank=True, max_length=60)),
                ("last_name", models.CharField(blank=True, max_length=60)),
                (
                    "status",
                    models.CharField(
                        choices=[("lead", "Lead"), ("customer", "Customer"), ("partner", "Partner")],
                        default="lead",
                        max_length=10,
                    ),
                ),
                ("notes", models.TextField(blank=True)),
                ("archived_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "company",
                    models.ForeignKey(
                        blank=True,
                        help_text="Who they work for",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="contacts",
                        to="contacts.company",
                    ),
                ),
                ("tags", models.ManyToManyField(blank=True, related_name="contacts", to="contacts.tag")),
            ],
            options={
                "ordering": ("last_name", "first_name", "id"),
            },
        ),
        migrations.CreateModel(
            name="PhoneNumber",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("work", "Work"), ("mobile", "Mobile"), ("home", "Home")],
                        default="work",
                        max_length=10,
                    ),
                ),
                ("number", models.CharField(max_length=30)),
                (
                    "contact",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="phones", to="contacts.contact"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
        migrations.AddConstraint(
            model_name="contact",
            constraint=models.UniqueConstraint(
                condition=models.Q(("email", ""), _negated=True), fields=("email",), name="contact_email_once"
            ),
        ),
    ]
