"""Machine rooms in the admin site."""

from django.contrib import admin

from dcim.models import Device, DeviceType, Site


@admin.register(Site)
class SiteAdmin(admin.ModelAdmin):
    list_display = ("name", "region", "address", "units")
    list_filter = ("region",)
    search_fields = ("name", "address")


@admin.register(DeviceType)
class DeviceTypeAdmin(admin.ModelAdmin):
    list_display = ("__str__", "manufacturer", "model", "height")
    list_filter = ("manufacturer",)
    search_fields = ("manufacturer", "model")


@admin.register(Device)
class DeviceAdmin(admin.ModelAdmin):
    list_display = ("name", "site", "device_type", "status", "serial", "installed")
    list_filter = ("status", "site", "device_type")
    list_select_related = ("site", "device_type")
    search_fields = ("name", "serial", "asset_tag")
    autocomplete_fields = ("site", "device_type")
