"""Urls of the site's API, as it documents them."""

from django.urls import include, path
from wagtail.api.v2.router import WagtailAPIRouter
from wagtail.api.v2.views import PagesAPIViewSet
from wagtail.documents.api.v2.views import DocumentsAPIViewSet
from wagtail.images.api.v2.views import ImagesAPIViewSet

router = WagtailAPIRouter("wagtailapi")
router.register_endpoint("pages", PagesAPIViewSet)
router.register_endpoint("images", ImagesAPIViewSet)
router.register_endpoint("documents", DocumentsAPIViewSet)

urlpatterns = [
    path("api/v2/", router.urls),
    path("mcp/", include("handfast.django.urls")),
]
