"""What it takes to discover the tools of a large Django project: 2,000 actions, every viewset with a model of its own.

python -m benchmarks.django_discovery [--actions N] [--rounds N]
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import django
from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

MOST_SECONDS = 2.0
ACTIONS = 2_000
_PER_VIEWSET = 8  # the six standard ones and two of its own


@dataclass(frozen=True, slots=True)
class Measured:
    """How many tools were found, and how long it took: the first time, and the median of all times."""

    tools: int
    problems: int
    first_s: float
    median_s: float

    def __str__(self) -> str:
        return f"{self.tools} tools in {self.first_s:.2f} s at first, {self.median_s:.2f} s in the median"


def start_django() -> None:
    """A project with no more than discovery needs."""
    settings.configure(
        SECRET_KEY="for a benchmark only",
        USE_TZ=True,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "django_filters"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()


def build_urls(actions: int) -> Sequence[URLPattern | URLResolver]:
    """A router with so many actions: models of twelve columns, filters, searches, orderings and pages."""
    from rest_framework.routers import DefaultRouter

    router = DefaultRouter()
    for number in range(-(-actions // _PER_VIEWSET)):
        router.register(f"app{number % 20}/things{number}", _viewset(number), basename=f"thing{number}")
    return [path("api/v1/", include(router.urls))]


def _model(number: int) -> Any:  # Any: a model made here has no type
    from django.contrib.auth.models import User
    from django.db import models

    columns = {
        "name": models.CharField(max_length=80, unique=True, help_text="What it is called"),
        "slug": models.SlugField(),
        "status": models.CharField(max_length=10, choices=[("new", "New"), ("old", "Old")], default="new"),
        "amount": models.DecimalField(max_digits=10, decimal_places=2, null=True),
        "count": models.PositiveIntegerField(default=0),
        "ratio": models.FloatField(null=True),
        "is_on": models.BooleanField(default=False),
        "settings": models.JSONField(default=dict),
        "created": models.DateTimeField(auto_now_add=True),
        "due": models.DateField(null=True),
        "owner": models.ForeignKey(User, on_delete=models.CASCADE, related_name="+"),
        "watchers": models.ManyToManyField(User, related_name="+"),
    }
    meta = type("Meta", (), {"app_label": "benchmark"})
    return type(f"Thing{number}", (models.Model,), {**columns, "Meta": meta, "__module__": __name__})


def _viewset(number: int) -> Any:  # Any: as above
    from django_filters.rest_framework import DjangoFilterBackend
    from rest_framework import filters, pagination, serializers, viewsets
    from rest_framework.decorators import action
    from rest_framework.response import Response

    model = _model(number)
    meta = type("Meta", (), {"model": model, "fields": "__all__"})
    own = {"owner_name": serializers.CharField(source="owner.username", read_only=True), "Meta": meta}
    pages = type("Pages", (pagination.PageNumberPagination,), {"page_size": 50})

    def publish(self: Any, request: Any, pk: str) -> Response:  # noqa: ARG001  # Any: as REST framework calls it
        """Publish it."""
        return Response({})

    def recent(self: Any, request: Any) -> Response:  # Any: as above
        return self.list(request)  # type: ignore[no-any-return]  # a response

    return type(
        f"Thing{number}ViewSet",
        (viewsets.ModelViewSet,),
        {
            "queryset": model._default_manager.all(),
            "serializer_class": type(f"Thing{number}Serializer", (serializers.ModelSerializer,), own),
            "filter_backends": (DjangoFilterBackend, filters.SearchFilter, filters.OrderingFilter),
            "filterset_fields": {"name": ["exact", "icontains"], "status": ["exact", "in"], "due": ["gte", "lte"]},
            "search_fields": ("name",),
            "ordering_fields": ("name", "due"),
            "pagination_class": pages,
            "publish": action(detail=True, methods=["post"])(publish),
            "recent": action(detail=False)(recent),
            "__doc__": "Things of one kind.",
        },
    )


def measure(*, actions: int, rounds: int) -> Measured:
    from handfast.django.discovery import survey

    urls = build_urls(actions)
    taken = []
    for _ in range(rounds):
        before = time.process_time()
        found = survey(urls)
        taken.append(time.process_time() - before)
    return Measured(len(found.tools), len(found.problems), taken[0], statistics.median(taken))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.django_discovery", description=__doc__)
    parser.add_argument("--actions", type=int, default=ACTIONS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    start_django()
    measured = measure(actions=options.actions, rounds=options.rounds)
    print(f"{measured} (at most {MOST_SECONDS:g} s)")
    return 0 if measured.first_s <= MOST_SECONDS else 1


if __name__ == "__main__":
    raise SystemExit(main())
