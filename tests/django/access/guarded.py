"""Views that let some in and others not, and who they let in."""

from typing import Any

from django.urls import include, path
from rest_framework import authentication, exceptions, permissions, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from tests.django.project.models import Device, Site
from tests.django.project.serializers import DeviceSerializer, SiteSerializer

BY_PASSWORD = (authentication.BasicAuthentication,)
BY_SESSION = (authentication.SessionAuthentication,)


class ByKey(authentication.BaseAuthentication):
    """Knows whoever says `Authorization: Bearer key-<username>`, and counts how often it was asked."""

    asked = 0

    def authenticate(self, request: Request) -> tuple[Any, str] | None:
        from django.contrib.auth import get_user_model

        type(self).asked += 1
        said = request.META.get("HTTP_AUTHORIZATION", "")
        if not said.startswith("Bearer "):
            return None
        user = get_user_model().objects.filter(username=said.removeprefix("Bearer key-")).first()
        if user is None:
            raise exceptions.AuthenticationFailed("No such key.")
        return user, "a key"


class Broken(authentication.BaseAuthentication):
    def authenticate(self, request: Request) -> None:
        raise RuntimeError("this is nobody's business")


class KeyOnly(permissions.BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.successful_authenticator, ByKey) and request.auth == "a key"


class Careless(permissions.BasePermission):
    """Asks for an object that is not there before a call."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(Site.objects.get(pk=view.kwargs["pk"]))


class OpenViewSet(viewsets.ModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes = (permissions.IsAuthenticatedOrReadOnly,)
    authentication_classes = (ByKey, *BY_SESSION, *BY_PASSWORD)


class ModelPermitted(viewsets.ModelViewSet[Device]):
    """Rows of one site: what is asked of the permissions needs a part of the path."""

    serializer_class = DeviceSerializer
    permission_classes = (permissions.DjangoModelPermissions,)
    authentication_classes = (ByKey,)

    def get_queryset(self) -> Any:
        return Device.objects.filter(site=self.kwargs["site_pk"])


class ByAction(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes = (permissions.IsAuthenticated,)
    authentication_classes = (ByKey,)

    def get_permissions(self) -> Any:
        return [permissions.IsAdminUser()] if self.action == "retrieve" else super().get_permissions()

    @action(detail=False, permission_classes=[permissions.AllowAny], authentication_classes=[])
    def anybody(self, request: Request) -> Response:
        return Response([])


class CarelessViewSet(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes = (Careless,)
    authentication_classes = ()


class KeyOnlyViewSet(viewsets.ReadOnlyModelViewSet[Site]):
    queryset = Site.objects.all()
    serializer_class = SiteSerializer
    permission_classes = (KeyOnly,)

    def get_authenticators(self) -> Any:
        return [ByKey()]


router = SimpleRouter()
router.register("sites", OpenViewSet)
router.register("keyed", KeyOnlyViewSet, basename="keyed")
router.register("careless", CarelessViewSet, basename="careless")
router.register("staffed", ByAction, basename="staffed")
router.register("sites/(?P<site_pk>[0-9]+)/devices", ModelPermitted, basename="devices")

urlpatterns = [path("api/", include(router.urls))]
