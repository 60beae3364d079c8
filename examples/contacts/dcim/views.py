"""The API of machine rooms. Every action that the routers offer is a tool as well."""

from django.db.models import Sum
from rest_framework import viewsets
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from dcim.filters import DeviceFilter
from dcim.models import Device, DeviceType, Site
from dcim.serializers import DeviceSerializer, DeviceTypeSerializer, SiteSerializer
from handfast.django import mcp_tool

CAPACITY = {
    "type": "object",
    "properties": {
        "sites": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "site": {"type": "string"},
                    "units": {"type": "integer", "description": "Rack units there are"},
                    "used": {"type": "integer"},
                    "free": {"type": "integer"},
                },
                "required": ["site", "units", "used", "free"],
            },
        }
    },
    "required": ["sites"],
}


class SiteViewSet(viewsets.ModelViewSet):
    """Sites: rooms where devices stand."""

    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    filterset_fields = ("name", "region")
    search_fields = ("name", "address")
    ordering_fields = ("name", "units")


class DeviceTypeViewSet(viewsets.ModelViewSet):
    """Types of devices, by their maker and model."""

    queryset = DeviceType.objects.all()
    serializer_class = DeviceTypeSerializer
    filterset_fields = ("manufacturer", "model")
    search_fields = ("manufacturer", "model")
    ordering_fields = ("manufacturer", "model", "height")


class DeviceViewSet(viewsets.ModelViewSet):
    """Devices and where they stand."""

    queryset = Device.objects.select_related("site", "device_type")
    serializer_class = DeviceSerializer
    filterset_class = DeviceFilter
    search_fields = ("name", "serial", "asset_tag")
    ordering_fields = ("name", "status", "installed", "price")


@mcp_tool(
    name="dcim__capacity",
    input={
        "type": "object",
        "properties": {"region": {"enum": Site.Region.values, "description": "Only the sites of this region"}},
    },
    output=CAPACITY,
)
@api_view(["GET"])
@permission_classes([IsAuthenticated])
def capacity(request: Request) -> Response:
    """How much room is left at each site. Retired devices take none."""
    sites = Site.objects.all()
    if region := request.query_params.get("region"):
        sites = sites.filter(region=region)
    standing = Device.objects.exclude(status=Device.Status.RETIRED).order_by()
    used = dict(standing.values_list("site").annotate(Sum("device_type__height")))
    rows = [(site.name, site.units, used.get(site.pk, 0)) for site in sites]
    return Response(
        {"sites": [{"site": name, "units": all_, "used": taken, "free": all_ - taken} for name, all_, taken in rows]}
    )
