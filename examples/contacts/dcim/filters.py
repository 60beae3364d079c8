"""What lists of devices can be narrowed by."""

import django_filters

from dcim.models import Device


class DeviceFilter(django_filters.FilterSet):
    site = django_filters.CharFilter(field_name="site__name", help_text="The site's name")
    region = django_filters.CharFilter(field_name="site__region", help_text="The region of the site")
    price = django_filters.RangeFilter()
    installed = django_filters.DateFromToRangeFilter()

    class Meta:
        model = Device
        fields = ("name", "status", "device_type", "asset_tag")
