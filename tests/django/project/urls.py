"""Urls of the project: routers of both kinds, nested, namespaced and wrapped."""

from django.http import HttpResponse
from django.urls import include, path, re_path
from rest_framework.routers import DefaultRouter, SimpleRouter

from tests.django.project import views

router = DefaultRouter()
router.register("contacts", views.ContactViewSet)
router.register("health", views.HealthViewSet, basename="health")
router.register("internal", views.Internal, basename="internal")

dcim = SimpleRouter(trailing_slash=False, use_regex_path=False)
dcim.register("sites", views.SiteViewSet)
dcim.register("devices", views.DeviceViewSet)
racks = SimpleRouter()
racks.register("racks", views.RackViewSet)

urlpatterns = [
    path("", lambda request: HttpResponse("A page")),
    path(
        "api/v1/",
        include(
            [
                path("", include(router.urls)),
                path("dcim/", include((dcim.urls, "dcim"), namespace="dcim")),
                path("dcim/", include(racks.urls)),
                path("dcim/sites/<int:site_pk>/devices/", views.traced(views.SiteDevices.as_view())),
                re_path(r"^regions/(?P<pk>\d+)/$", views.logged(views.RegionView.as_view())),
                path("ping/", views.ping),
                path("echo/", views.echo),
                path("hidden/", views.hidden),
                path("login/", views.Login.as_view()),
            ]
        ),
    ),
]
