"""Views of the project: one of every kind that discovery meets."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import django_filters
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from rest_framework import filters, generics, mixins, pagination, viewsets
from rest_framework.decorators import action, api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from handfast.django.decorators import mcp_tool
from tests.django.project.models import Contact, Device, Rack, Site
from tests.django.project.serializers import (
    ContactLineSerializer,
    ContactSerializer,
    DeviceSerializer,
    PasswordSerializer,
    RackSerializer,
    RegionSerializer,
    SiteSerializer,
)


class Pages(pagination.PageNumberPagination):
    page_size = 20
    page_size_query_param = "page_size"
    max_page_size = 100


class ContactViewSet(viewsets.ModelViewSet[Contact]):
    """People we know.

    destroy: Forget a person.
    """

    queryset = Contact.objects.all()
    serializer_class = ContactSerializer
    pagination_class = Pages
    filter_backends = (filters.SearchFilter, filters.OrderingFilter)
    search_fields = ("^first_name", "email")
    ordering_fields = ("email", "created")

    def get_serializer_class(self) -> Any:
        if self.action in ("list", "recent"):
            return ContactLineSerializer
        return super().get_serializer_class()

    def partial_update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Correct what we know of a person."""
        return super().partial_update(request, *args, **kwargs)

    @action(detail=True, methods=["post"], url_path="set-password", serializer_class=PasswordSerializer)
    def set_password(self, request: Request, pk: str) -> Response:
        return Response({"status": "set"})

    @action(detail=True, methods=["get", "post"])
    def note(self, request: Request, pk: str) -> Response:
        """Read or write a note."""
        return Response({})

    @action(detail=False)
    def recent(self, request: Request) -> Response:
        return self.list(request)

    @recent.mapping.delete
    def forget_recent(self, request: Request) -> Response:
        return Response(status=204)


class SiteViewSet(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    lookup_field = "slug"
    lookup_url_kwarg = "site_slug"


class RackViewSet(viewsets.ModelViewSet[Rack]):
    queryset = Rack.objects.all()
    serializer_class = RackSerializer
    lookup_value_regex = "[0-9a-f-]{36}"


class DeviceFilter(FilterSet):
    price = django_filters.RangeFilter()
    racked = django_filters.IsoDateTimeFromToRangeFilter(help_text="When it was put in")
    label = django_filters.CharFilter(field_name="name", lookup_expr="icontains")
    o = django_filters.OrderingFilter(fields=("name", ("price", "cost")))

    class Meta:
        model = Device
        fields: ClassVar = {
            "name": ["exact", "in"],
            "site": ["exact"],
            "rack": ["exact", "isnull"],
            "tags": ["exact"],
            "weight": ["exact"],
            "height": ["gte", "range"],
            "bought": ["exact", "year"],
            "is_on": ["exact"],
        }


class DeviceViewSet(viewsets.ModelViewSet[Device]):
    queryset = Device.objects.all()
    serializer_class = DeviceSerializer
    filter_backends = (DjangoFilterBackend,)
    filterset_class = DeviceFilter
    pagination_class = pagination.LimitOffsetPagination


class SiteDevices(generics.ListCreateAPIView[Device]):
    """The devices of one site."""

    serializer_class = DeviceSerializer

    def get_queryset(self) -> Any:
        return Device.objects.filter(site=self.kwargs["site_pk"])


class RegionView(mixins.RetrieveModelMixin, generics.GenericAPIView[Site]):
    queryset = Site.objects.all()
    serializer_class = RegionSerializer

    @method_decorator(never_cache)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return self.retrieve(request, *args, **kwargs)


class HealthViewSet(viewsets.ViewSet):
    """How the machine room is."""

    def list(self, request: Request) -> Response:
        return Response({"temperature": 21.5})

    @action(detail=False, methods=["post"])
    @mcp_tool(name="alarm", kind="admin", input=PasswordSerializer, output={"type": "object"})
    def sound_alarm(self, request: Request) -> Response:
        return Response({"heard": "password" in request.data})


@mcp_tool(output={"type": "object", "properties": {"pong": {"type": "boolean"}}})
@api_view(["GET"])
def ping(request: Request) -> Response:
    """Say whether anybody is there."""
    return Response({"pong": True})


@api_view(["POST"])
@mcp_tool(name="echo", input={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
def echo(request: Request) -> Response:
    return Response(request.data)


@api_view(["POST"])
def hidden(request: Request) -> Response:
    return Response({})


class Login(APIView):
    def post(self, request: Request) -> Response:
        return Response({})


@mcp_tool(exclude=True)
class Internal(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer


def logged(view: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that forgets to say what it wraps."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        return view(*args, **kwargs)

    return inner


def traced(view: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(view)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return view(*args, **kwargs)

    return inner
