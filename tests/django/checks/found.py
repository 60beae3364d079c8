"""What the checks find in viewsets that are written for one test."""

from typing import Any

from rest_framework.routers import SimpleRouter

from handfast.django.checks.catalogue import CheckFinding
from handfast.django.checks.surveyed import surveyed_findings
from handfast.django.discovery import survey


def findings(*viewsets: Any) -> list[CheckFinding]:
    """Of viewsets by themselves, each at a url of its own; Any: viewsets of any model."""
    router = SimpleRouter()
    for place, viewset in enumerate(viewsets):
        router.register(f"part{place}", viewset, basename=f"part{place}")
    return surveyed_findings(survey(router.urls))


def ids(*viewsets: Any) -> list[str]:
    return [str(one.id) for one in findings(*viewsets)]
