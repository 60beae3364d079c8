"""Tokens for agents, and results that are fetched in pieces."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = (migrations.swappable_dependency(settings.AUTH_USER_MODEL),)
    operations = (
        migrations.CreateModel(
            name="AgentToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("scopes", models.TextField()),
                ("prefix", models.CharField(editable=False, max_length=16)),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expires", models.DateTimeField(blank=True, null=True)),
                ("last_used", models.DateTimeField(editable=False, null=True)),
                ("revoked", models.DateTimeField(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="handfast_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "token for an agent",
                "verbose_name_plural": "tokens for agents",
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="KeptResult",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("owner", models.CharField(max_length=256)),
                ("tool", models.CharField(max_length=128)),
                ("arguments", models.CharField(max_length=64)),
                ("pieces", models.BinaryField()),
                ("beside", models.BinaryField()),
                ("items_key", models.TextField()),
                ("total_items", models.BigIntegerField(null=True)),
                ("size", models.BigIntegerField()),
                ("expires", models.BigIntegerField()),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["expires"], name="handfast_kept_expires"),
                    models.Index(fields=["owner", "expires"], name="handfast_kept_owner"),
                ],
            },
        ),
    )
