"""The settings in docs/django.md: every key, and no other."""

import re
from dataclasses import fields
from pathlib import Path

from handfast.django.conf import AdapterSettings

PAGE = Path(__file__).parents[2] / "docs" / "django.md"


def test_the_table_has_every_setting_and_no_other() -> None:
    table = PAGE.read_text("utf-8").partition("## Settings")[2].partition("\n## ")[0]
    first = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([A-Z_]+)`", " ".join(first))) == sorted(
        one.name.upper() for one in fields(AdapterSettings)
    )
