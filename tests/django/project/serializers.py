"""Serializers of the project."""

from decimal import Decimal
from typing import Any, TypedDict

from rest_framework import serializers

from tests.django.project.models import Contact, Device, Profile, Rack, Site


class ProfileSerializer(serializers.ModelSerializer[Profile]):
    class Meta:
        model = Profile
        fields = ("motto",)


class ContactSerializer(serializers.ModelSerializer[Contact]):
    password = serializers.CharField(write_only=True, required=False)
    full_name = serializers.ReadOnlyField()
    profile = ProfileSerializer(read_only=True)

    class Meta:
        model = Contact
        fields = (
            "id",
            "email",
            "first_name",
            "last_name",
            "notes",
            "status",
            "created",
            "password",
            "full_name",
            "profile",
        )

    def save(self, **kwargs: Any) -> Contact:
        self.validated_data.pop("password", None)
        return super().save(**kwargs)


class ContactLineSerializer(serializers.ModelSerializer[Contact]):
    """What a list shows of a contact."""

    class Meta:
        model = Contact
        fields = ("id", "email")


class PasswordSerializer(serializers.Serializer[Any]):
    password = serializers.CharField(min_length=8)


class SiteSerializer(serializers.ModelSerializer[Site]):
    class Meta:
        model = Site
        fields = ("id", "name", "slug", "region")


class RegionSerializer(serializers.ModelSerializer[Site]):
    """A site with all that is inside it, as deep as it goes."""

    class Meta:
        model = Site
        fields = ("id", "name")

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "parts": RegionSerializer(many=True, read_only=True)}


class RackSerializer(serializers.ModelSerializer[Rack]):
    class Meta:
        model = Rack
        fields = ("id", "label")


class Cost(TypedDict):
    amount: Decimal
    currency: str


class DeviceSerializer(serializers.ModelSerializer[Device]):
    site_name = serializers.CharField(source="site.name", read_only=True)
    rack_label = serializers.CharField(source="rack.label", read_only=True)
    cost = serializers.SerializerMethodField()

    class Meta:
        model = Device
        fields = (
            *("id", "name", "site", "site_name", "rack", "rack_label", "tags", "weight", "height", "price"),
            *("bought", "racked", "settings", "picture", "is_on", "cost"),
        )

    def get_cost(self, device: Device) -> Cost:
        return {"amount": device.price, "currency": "EUR"}
