"""Machine rooms: sites, types of devices, and the devices that stand there."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models


class SiteManager(models.Manager):
    def get_by_natural_key(self, name: str) -> "Site":
        return self.get(name=name)


class Site(models.Model):
    class Region(models.TextChoices):
        NORTH = "north", "North"
        SOUTH = "south", "South"

    name = models.CharField(max_length=40, unique=True)
    region = models.CharField(max_length=10, choices=Region.choices, default=Region.NORTH)
    address = models.CharField(max_length=120, blank=True)
    units = models.PositiveSmallIntegerField(default=42, help_text="Rack units there are")

    objects = SiteManager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str]:
        return (self.name,)


class DeviceTypeManager(models.Manager):
    def get_by_natural_key(self, manufacturer: str, model: str) -> "DeviceType":
        return self.get(manufacturer=manufacturer, model=model)


class DeviceType(models.Model):
    manufacturer = models.CharField(max_length=40)
    model = models.CharField(max_length=40)
    height = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(42)], help_text="In rack units"
    )

    objects = DeviceTypeManager()

    class Meta:
        ordering = ("manufacturer", "model")
        constraints = (models.UniqueConstraint(fields=["manufacturer", "model"], name="device_type_once"),)

    def __str__(self) -> str:
        return f"{self.manufacturer} {self.model}"

    def natural_key(self) -> tuple[str, str]:
        return (self.manufacturer, self.model)


class DeviceManager(models.Manager):
    def get_by_natural_key(self, site: str, name: str) -> "Device":
        return self.get(site__name=site, name=name)


class Device(models.Model):
    class Status(models.TextChoices):
        PLANNED = "planned", "Planned"
        ACTIVE = "active", "Active"
        OFFLINE = "offline", "Offline"
        RETIRED = "retired", "Retired"

    name = models.CharField(max_length=40)
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="devices", help_text="Where it stands")
    device_type = models.ForeignKey(DeviceType, on_delete=models.PROTECT, related_name="devices")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PLANNED)
    serial = models.CharField(max_length=40, blank=True)
    asset_tag = models.CharField(max_length=20, unique=True, null=True, blank=True)
    price = models.DecimalField(max_digits=9, decimal_places=2, null=True, blank=True)
    installed = models.DateField(null=True, blank=True)
    settings = models.JSONField(default=dict, blank=True, help_text="What it is set to, in the maker's own terms")

    objects = DeviceManager()

    class Meta:
        ordering = ("site__name", "name")
        constraints = (models.UniqueConstraint(fields=["site", "name"], name="device_once_per_site"),)

    def __str__(self) -> str:
        return self.name

    def natural_key(self) -> tuple[str, str]:
        return (*self.site.natural_key(), self.name)

    natural_key.dependencies = ("dcim.site",)  # type: ignore[attr-defined]  # Django reads it off the method
