"""The warehouse as the project that is called."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import override_settings
from django.utils import translation


@pytest.fixture(autouse=True)
def warehouse(database: None, tmp_path: Path) -> Iterator[None]:
    """Its urls, its empty tables, and nothing remembered of the calls before."""
    cache.clear()
    translation.deactivate()
    with override_settings(ROOT_URLCONF="tests.django.depot.urls", MEDIA_ROOT=tmp_path):
        yield
