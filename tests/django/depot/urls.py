"""Urls of the warehouse."""

from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from rest_framework.routers import DefaultRouter, SimpleRouter

from tests.django.depot import views

router = DefaultRouter()
router.register("depots", views.Depots)
router.register("crates", views.Crates)
router.register("shelves", views.Shelves)
router.register("tags", views.Tags)
router.register("slug-crates", views.SlugCrates, basename="slug-crate")
router.register("linked", views.LinkedCrates, basename="linked")
router.register("orders", views.Orders)
router.register("own-crates", views.OwnCrates, basename="own-crate")
router.register("session-crates", views.SessionCrates, basename="session-crate")
router.register("throttled", views.Throttled, basename="throttled")
router.register("basic", views.Basic, basename="basic")
router.register("seen", views.Seen, basename="seen")
router.register("odd", views.Odd, basename="odd")
router.register("statuses", views.Statuses, basename="status")
router.register("own-handler", views.OwnHandler, basename="own-handler")
router.register("uploads", views.Uploads, basename="upload")
router.register("json-only", views.JsonOnly, basename="json-only")

by_path = SimpleRouter()
by_path.register("by-path", views.Versioned, basename="by-path")


class OfAccept(views.Versioned):
    versioning_class = views.AcceptVersion


class OfPath(views.Versioned):
    versioning_class = views.PathVersion


class OfNamespace(views.Versioned):
    versioning_class = views.NamespaceVersion


urlpatterns = [
    path("api/", include(router.urls)),
    path("api/<str:version>/path-version/", OfPath.as_view({"get": "list"}), name="path-version"),
    path("api/accept-version/", OfAccept.as_view({"get": "list"})),
    path(
        "api/spaced/",
        include(([path("it/", OfNamespace.as_view({"get": "list"}), name="it")], "spaced"), namespace="v2"),
    ),
    path(
        "api/depots/<int:depot_pk>/seen/<slug:which>/", views.Seen.as_view({"get": "list"}), {"extra": 1}, name="near"
    ),
    path("api/bulk-tags/", views.BulkTags.as_view()),
    path("api/bulk-shelves/", views.BulkShelves.as_view()),
    path("api/passwords/", views.Passwords.as_view()),
    path("api/careless/", csrf_exempt(views.careless)),
    path("api/on-its-own/", views.careless_on_its_own),
    path("api/deep/", views.Deep.as_view()),
    path("api/unhurried/", views.Unhurried.as_view()),
    path("api/unlooking/", views.Unlooking.as_view()),
    path("api/counted/", views.counted),
    path("api/counted-once/", views.counted_once),
    path("api/bare-file/", views.BareFile.as_view()),
]
