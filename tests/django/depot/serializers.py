"""Serializers of the warehouse: relations by id, by slug and by link, nested, and limited to the caller."""

from typing import Any

from rest_framework import serializers

from tests.django.depot.models import Crate, Depot, Line, Order, Shelf, Tag


class DepotSerializer(serializers.ModelSerializer[Depot]):
    class Meta:
        model = Depot
        fields = ("id", "name", "slug")


class OwnDepot(serializers.PrimaryKeyRelatedField[Depot]):
    """Only depots of the caller's, by what the view found out about it."""

    def get_queryset(self) -> Any:
        return Depot.objects.filter(owner=self.context["view"].keeper)


class CrateSerializer(serializers.ModelSerializer[Crate]):
    class Meta:
        model = Crate
        fields = ("id", "code", "depot", "shelf", "tags", "is_sealed", "weight", "arrived", "photo")

    def validate_code(self, code: str) -> str:
        if code.startswith("x"):
            raise serializers.ValidationError(f"Codes such as {code} are of the old kind; begin with another letter.")
        return code

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        shelf = attrs.get("shelf")
        if shelf is not None and shelf.depot_id != attrs["depot"].pk:
            raise serializers.ValidationError("The shelf stands in another depot.")
        return attrs


class OwnCrateSerializer(serializers.ModelSerializer[Crate]):
    depot = OwnDepot()

    class Meta:
        model = Crate
        fields = ("id", "code", "depot")


class SlugCrateSerializer(serializers.ModelSerializer[Crate]):
    depot = serializers.SlugRelatedField(slug_field="slug", queryset=Depot.objects.all())

    class Meta:
        model = Crate
        fields = ("id", "code", "depot")


class LinkedCrateSerializer(serializers.HyperlinkedModelSerializer[Crate]):
    class Meta:
        model = Crate
        fields = ("url", "code", "depot")
        extra_kwargs = {"url": {"view_name": "linked-detail"}}  # noqa: RUF012 - as Django people write it


class LineSerializer(serializers.ModelSerializer[Line]):
    class Meta:
        model = Line
        fields = ("crate", "quantity")


class OrderSerializer(serializers.ModelSerializer[Order]):
    lines = LineSerializer(many=True)

    class Meta:
        model = Order
        fields = ("id", "number", "lines")

    def create(self, validated_data: dict[str, Any]) -> Order:
        lines = validated_data.pop("lines")
        order = Order.objects.create(**validated_data)
        for line in lines:
            Line.objects.create(order=order, **line)
        return order


class ShelfSerializer(serializers.ModelSerializer[Shelf]):
    class Meta:
        model = Shelf
        fields = ("id", "depot", "label")


class TagSerializer(serializers.ModelSerializer[Tag]):
    class Meta:
        model = Tag
        fields = ("id", "name")


class DeepSerializer(serializers.Serializer[Any]):
    """Relations wherever one can stand."""

    crates = serializers.ListField(child=serializers.PrimaryKeyRelatedField(queryset=Crate.objects.all()))
    by_place = serializers.DictField(
        child=serializers.SlugRelatedField(slug_field="code", queryset=Crate.objects.all())
    )


class PasswordSerializer(serializers.Serializer[Any]):
    password = serializers.CharField()

    def validate_password(self, password: str) -> str:
        raise serializers.ValidationError(f"{password} was stolen once; choose another.")
