"""The endpoint among the project's urls, with nothing recorded."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from handfast.django.service.service import forget_service


@pytest.fixture(autouse=True)
def endpoint_in_urls() -> Iterator[None]:
    with override_settings(ROOT_URLCONF="tests.django.endpoint.urls", HANDFAST={"ACTIVITY": "off"}):
        yield
    forget_service()
