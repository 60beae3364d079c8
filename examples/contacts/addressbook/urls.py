"""Urls of the project: the API, the admin site, and the same API as tools."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from rest_framework.routers import DefaultRouter

from contacts.views import CompanyViewSet, ContactViewSet, TagViewSet
from dcim.views import DeviceTypeViewSet, DeviceViewSet, SiteViewSet, capacity

router = DefaultRouter()
router.register("contacts", ContactViewSet)
router.register("companies", CompanyViewSet)
router.register("tags", TagViewSet)
router.register("dcim/sites", SiteViewSet)
router.register("dcim/device-types", DeviceTypeViewSet)
router.register("dcim/devices", DeviceViewSet)

admin.site.site_header = "Contacts and devices"
admin.site.site_title = "Contacts"
admin.site.index_title = "What is kept here"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/v1/dcim/capacity/", capacity),
    path("api/v1/", include(router.urls)),
    path("mcp/", include("handfast.django.urls")),
]
