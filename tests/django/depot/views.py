"""Views of the warehouse: one for every thing that decides about a call or shapes its answer."""

import asyncio
import datetime
import decimal
import uuid
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, RestrictedError
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.template.response import SimpleTemplateResponse
from django.utils.decorators import method_decorator
from django.utils.translation import get_language, gettext_lazy
from django.views.decorators.cache import cache_page, never_cache
from rest_framework import (
    authentication,
    exceptions,
    generics,
    pagination,
    parsers,
    permissions,
    throttling,
    versioning,
    viewsets,
)
from rest_framework.decorators import action, api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from handfast.django.decorators import mcp_tool
from tests.django.depot.models import Crate, Depot, Entry, Order, Shelf, Tag
from tests.django.depot.serializers import (
    CrateSerializer,
    DeepSerializer,
    DepotSerializer,
    LinkedCrateSerializer,
    OrderSerializer,
    OwnCrateSerializer,
    PasswordSerializer,
    ShelfSerializer,
    SlugCrateSerializer,
    TagSerializer,
)


class Pages(pagination.PageNumberPagination):
    page_size = 2


class Depots(viewsets.ModelViewSet[Depot]):
    queryset = Depot.objects.order_by("name")
    serializer_class = DepotSerializer
    pagination_class = Pages


class Crates(viewsets.ModelViewSet[Crate]):
    queryset = Crate.objects.order_by("code")
    serializer_class = CrateSerializer
    filterset_fields = ("code", "depot")


class Shelves(viewsets.ModelViewSet[Shelf]):
    queryset = Shelf.objects.all()
    serializer_class = ShelfSerializer


class Tags(viewsets.ModelViewSet[Tag]):
    queryset = Tag.objects.all()
    serializer_class = TagSerializer
    lookup_field = "name"


class SlugCrates(viewsets.ModelViewSet[Crate]):
    queryset = Crate.objects.all()
    serializer_class = SlugCrateSerializer


class LinkedCrates(viewsets.ModelViewSet[Crate]):
    queryset = Crate.objects.all()
    serializer_class = LinkedCrateSerializer


class Orders(viewsets.ModelViewSet[Order]):
    queryset = Order.objects.all()
    serializer_class = OrderSerializer


class BulkTags(generics.CreateAPIView[Any]):
    """Takes a list, and says so."""

    serializer_class: Any = TagSerializer
    queryset = Tag.objects.all()

    def get_serializer(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["many"] = True
        return super().get_serializer(*args, **kwargs)


class BulkShelves(BulkTags):
    serializer_class: Any = ShelfSerializer


# --- who may ---------------------------------------------------------------------------------------------------------


class Keepers(permissions.BasePermission):
    message = "Only keepers of a depot may."

    def has_permission(self, request: Request, view: APIView) -> bool:
        return Depot.objects.filter(owner=request.user.pk).exists()


class NotForeign(permissions.BasePermission):
    def has_object_permission(self, request: Request, view: APIView, obj: Any) -> bool:
        return obj.depot.owner_id == request.user.pk


class OwnCrates(viewsets.ModelViewSet[Crate]):
    """What is known of the caller is only known after `initial()`."""

    queryset = Crate.objects.all()
    serializer_class = OwnCrateSerializer
    permission_classes = (permissions.IsAuthenticated, Keepers, NotForeign)
    keeper: Any = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.keeper = request.user


class SessionCrates(viewsets.ModelViewSet[Crate]):
    queryset = Crate.objects.all()
    serializer_class = OwnCrateSerializer
    authentication_classes = (authentication.SessionAuthentication,)
    permission_classes = (permissions.IsAuthenticated,)

    @property
    def keeper(self) -> Any:
        return self.request.user


class ByAddress(throttling.SimpleRateThrottle):
    rate = "2/min"

    def get_cache_key(self, request: Request, view: APIView) -> str:
        return f"depot-{self.get_ident(request)}"


class Throttled(viewsets.ModelViewSet[Tag]):
    queryset = Tag.objects.all()
    serializer_class = TagSerializer
    throttle_classes = (ByAddress,)


class Basic(viewsets.ViewSet):
    authentication_classes = (authentication.BasicAuthentication,)
    permission_classes = (permissions.IsAuthenticated,)

    def list(self, request: Request) -> Response:
        return Response({"user": request.user.get_username(), "auth": request.auth})


# --- what a view is told ---------------------------------------------------------------------------------------------


class PathVersion(versioning.URLPathVersioning):
    default_version = "v1"
    allowed_versions = ("v1", "v2")


class AcceptVersion(versioning.AcceptHeaderVersioning):
    default_version = "1.0"
    allowed_versions = ("1.0", "2.0")


class NamespaceVersion(versioning.NamespaceVersioning):
    default_version = "v1"
    allowed_versions = ("v1", "v2")


class Versioned(viewsets.ViewSet):
    def list(self, request: Request, **kwargs: Any) -> Response:
        return Response({"version": request.version})


class Seen(viewsets.ViewSet):
    """Everything that a view may read from its request."""

    @method_decorator(never_cache)
    def list(self, request: Request, **kwargs: Any) -> Response:
        plain = request._request
        match = plain.resolver_match
        assert match is not None
        return Response(
            {
                "method": request.method,
                "path": plain.path,
                "path_info": plain.path_info,
                "full_path": plain.get_full_path(),
                "uri": request.build_absolute_uri(),
                "get": dict(request.GET.lists()),
                "accept": request.headers.get("Accept"),
                "headers": sorted(name for name in request.headers if name.startswith(("Content", "If-", "X-"))),
                "cookies": dict(request.COOKIES),
                "address": request.META.get("REMOTE_ADDR"),
                "tenant": getattr(plain, "tenant", None),
                "language": get_language(),
                "match": [match.view_name, match.route, sorted(match.kwargs)],
                "class": type(plain).__name__,
                "body": plain.body.decode(),
            }
        )

    @mcp_tool(input={"type": "object", "properties": {"given": {}}})
    def create(self, request: Request, **kwargs: Any) -> Response:
        return Response(
            {
                "data": request.data,
                "content_type": request.content_type,
                "length": int(request.META["CONTENT_LENGTH"]),
                "post": dict(request._request.POST),
                "files": list(request._request.FILES),
            }
        )


# --- what a view answers ---------------------------------------------------------------------------------------------


def noted(response: HttpResponse) -> None:
    Entry.objects.create(text="rendered")


class Page:
    def render(self, context: Any = None, request: Any = None) -> str:
        Entry.objects.create(text="page rendered")
        return "<p>A page</p>"


class Odd(viewsets.ViewSet):
    """Answers of every kind, by name."""

    lookup_field = "kind"

    def retrieve(self, request: Request, kind: str) -> Any:
        return getattr(self, f"_{kind}")(request)

    def _values(self, request: Request) -> Response:
        return Response(
            {
                "day": datetime.date(2026, 3, 1),
                "moment": datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC),
                "price": decimal.Decimal("1.50"),
                "id": uuid.UUID(int=5),
                "lazy": gettext_lazy("Yes"),
                "big": 2**80,
                "set": {1},
            }
        )

    def _nan(self, request: Request) -> Response:
        return Response({"value": float("nan")})

    def _loose_nan(self, request: Request) -> HttpResponse:
        return HttpResponse('{"value": NaN}', content_type="application/json")

    def _json(self, request: Request) -> HttpResponse:
        return JsonResponse({"plain": True})

    def _problem(self, request: Request) -> HttpResponse:
        return HttpResponse('{"plain": 1}', content_type="application/problem+json")

    def _protected(self, request: Request) -> None:
        raise ProtectedError("Cannot delete Anna's depot", set())

    def _restricted(self, request: Request) -> None:
        raise RestrictedError("Cannot delete Anna's depot", set())

    def _html(self, request: Request) -> HttpResponse:
        return HttpResponse("<p>A page</p>")

    def _template(self, request: Request) -> HttpResponse:
        return SimpleTemplateResponse(Page())

    def _redirect(self, request: Request) -> HttpResponse:
        return HttpResponseRedirect("/elsewhere?token=secret")

    def _stream(self, request: Request) -> StreamingHttpResponse:
        return StreamingHttpResponse(iter([b"{}"]), content_type="application/json")

    def _file(self, request: Request) -> FileResponse:
        return FileResponse(open(__file__, "rb"))

    def _nothing(self, request: Request) -> Response:
        return Response(status=204)

    def _empty(self, request: Request) -> Response:
        return Response()

    def _rendered(self, request: Request) -> Response:
        response: Response = self.finalize_response(request, Response({"rendered": 1}))
        response.add_post_render_callback(noted)
        return response

    def _early(self, request: Request) -> Response:
        return self._rendered(request).render()

    def _none(self, request: Request) -> None:
        return None

    def _crash(self, request: Request) -> Response:
        Entry.objects.create(text="before the crash")
        raise RuntimeError("secret of the house")

    def _quit(self, request: Request) -> Response:
        raise SystemExit(3)

    def _missing(self, request: Request) -> Response:
        raise Http404("No such thing as secret")

    def _denied(self, request: Request) -> Response:
        raise PermissionDenied("secret")

    def _suspicious(self, request: Request) -> Response:
        raise SuspiciousOperation("secret")


class Statuses(viewsets.ViewSet):
    """Refusals of every status."""

    lookup_field = "status"

    def retrieve(self, request: Request, status: str) -> Response:
        headers = {"Retry-After": "7"} if status in ("429", "503") else None
        return Response({"detail": "What the author says."}, status=int(status), headers=headers)


def in_own_form(exc: Exception, context: dict[str, Any]) -> Response | None:
    from rest_framework.views import exception_handler

    response = exception_handler(exc, context)
    if response is not None and isinstance(exc, exceptions.ValidationError):
        errors = [{"attr": name, "code": "x", "detail": str(texts[0])} for name, texts in response.data.items()]
        response.data = {"type": "validation_error", "errors": errors}
    return response


class OwnHandler(viewsets.ModelViewSet[Depot]):
    queryset = Depot.objects.all()
    serializer_class = DepotSerializer

    def get_exception_handler(self) -> Any:
        return in_own_form


class Passwords(generics.CreateAPIView[Any]):
    serializer_class = PasswordSerializer


# --- how it is run ---------------------------------------------------------------------------------------------------


class Careless(viewsets.ViewSet):
    """Writes, then fails in one of several ways."""

    @mcp_tool(input={"type": "object", "properties": {"how": {"type": "string"}}})
    def create(self, request: Request) -> Response:
        Entry.objects.create(text="half done")
        data: Any = request.data
        match data.get("how"):
            case "crash":
                raise RuntimeError("secret of the house")
            case "invalid":
                raise exceptions.ValidationError({"how": ["Not like this."]})
            case "missing":
                raise Http404
            case "full":
                if Entry.objects.count() > 1:
                    raise exceptions.ValidationError({"how": ["There is something already."]})
            case "clash":
                try:
                    Depot.objects.create(name="taken", slug="taken")
                except IntegrityError:
                    return Response({"detail": "It is taken."}, status=409)
            case "undo":
                transaction.set_rollback(True)
                return Response({})
        return Response({"entries": Entry.objects.count()})


careless = Careless.as_view({"post": "create"})
careless_on_its_own = transaction.non_atomic_requests(Careless.as_view({"post": "create"}))


class Deep(generics.CreateAPIView[Any]):
    """What it was sent, as its serializer read it."""

    serializer_class = DeepSerializer

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        return Response(dict(request.data))


class Unhurried(APIView):
    """A view with a dispatch of its own that must be awaited."""

    view_is_async: ClassVar = True

    async def dispatch(  # type: ignore[override]  # as views of other packages are written
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        await asyncio.sleep(0)
        return JsonResponse({"seen": request.path, "method": request.method})

    @mcp_tool(output={"type": "object"})
    def get(self, request: Request) -> Response:
        raise NotImplementedError


class Unlooking(generics.CreateAPIView[Crate]):
    """A view that reads its body where the database must not be asked."""

    serializer_class = SlugCrateSerializer
    queryset = Crate.objects.all()
    view_is_async: ClassVar = True

    async def dispatch(  # type: ignore[override]  # as above
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        self.request = self.initialize_request(request)
        try:
            return JsonResponse(self.request.data)
        except exceptions.APIException as error:
            return JsonResponse(error.detail, status=error.status_code, safe=False)

    @mcp_tool(input=SlugCrateSerializer)
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return self.create(request)


@mcp_tool(output={"type": "object"})
@api_view(["GET"])
def counted(request: Request) -> Response:
    return Response({"count": Entry.objects.create(text="counted").pk})


counted_once = cache_page(60)(counted)


class Uploads(viewsets.ModelViewSet[Crate]):
    queryset = Crate.objects.all()
    serializer_class = CrateSerializer
    parser_classes = (parsers.MultiPartParser, parsers.FormParser)

    @action(detail=False, methods=["post"])
    @mcp_tool(input=CrateSerializer)
    def weigh(self, request: Request) -> Response:
        files = request.FILES.getlist("photo")
        data: Any = request.data
        copied = data.copy()
        copied.update({"code": "changed"})
        return Response(
            {
                "sizes": [file.size for file in files],
                "same": data.get("photo") is (files[0] if files else None),
                "keys": sorted(data),
                "copied": copied["code"],
                "type": files[0].content_type if files else None,
                "name": files[0].name if files else None,
            }
        )


class JsonOnly(Crates):
    parser_classes = (parsers.JSONParser,)


class BareFile(generics.CreateAPIView[Crate]):
    serializer_class = CrateSerializer
    queryset = Crate.objects.all()
    parser_classes = (parsers.FileUploadParser,)
