"""What the API takes and sends for machine rooms."""

from rest_framework import serializers

from dcim.models import Device, DeviceType, Site


class SiteSerializer(serializers.ModelSerializer):
    class Meta:
        model = Site
        fields = ("id", "name", "region", "address", "units")


class DeviceTypeSerializer(serializers.ModelSerializer):
    class Meta:
        model = DeviceType
        fields = ("id", "manufacturer", "model", "height")


class DeviceSerializer(serializers.ModelSerializer):
    site_name = serializers.CharField(source="site.name", read_only=True)
    type_name = serializers.StringRelatedField(source="device_type")

    class Meta:
        model = Device
        fields = (
            *("id", "name", "site", "site_name", "device_type", "type_name", "status", "serial", "asset_tag"),
            *("price", "installed", "settings"),
        )
