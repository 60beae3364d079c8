"""The tables of machine rooms."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Site",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40, unique=True)),
                (
                    "region",
                    models.CharField(choices=[("north", "North"), ("south", "South")], default="north", max_length=10),
                ),
                ("address", models.CharField(blank=True, max_length=120)),
                ("units", models.PositiveSmallIntegerField(default=42, help_text="Rack units there are")),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="DeviceType",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("manufacturer", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=40)),
                (
                    "height",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="In rack units",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(42),
                        ],
                    ),
                ),
            ],
            options={
                "ordering": ("manufacturer", "model"),
                "constraints": [models.UniqueConstraint(fields=("manufacturer", "model"), name="device_type_once")],
            },
        ),
        migrations.CreateModel(
            name="Device",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("planned", "Planned"),
                            ("active", "Active"),
                            ("offline", "Offline"),
                            ("retired", "Retired"),
                        ],
                        default="planned",
                        max_length=10,
                    ),
                ),
                ("serial", models.CharField(blank=True, max_length=40)),
                ("asset_tag", models.CharField(blank=True, max_length=20, null=True, unique=True)),
                ("price", models.DecimalField(blank=True, decimal_places=2, max_digits=9, null=True)),
                ("installed", models.DateField(blank=True, null=True)),
                (
                    "settings",
                    models.JSONField(blank=True, default=dict, help_text="What it is set to, in the maker's own terms"),
                ),
                (
                    "device_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="devices", to="dcim.devicetype"
                    ),
                ),
                (
                    "site",
                    models.ForeignKey(
                        help_text="Where it stands",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="devices",
                        to="dcim.site",
                    ),
                ),
            ],
            options={
                "ordering": ("site__name", "name"),
                "constraints": [models.UniqueConstraint(fields=("site", "name"), name="device_once_per_site")],
            },
        ),
    ]
