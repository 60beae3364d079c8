"""A small endpoint in front of the warehouse's tools: requests that a server made, through middleware."""

import json
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from handfast.core.answers.errors import ToolError
from handfast.django.invocation import invoke
from tests.django.depot import urls
from tests.django.invocation.calling import tools


@csrf_exempt
@transaction.non_atomic_requests
def endpoint(request: HttpRequest) -> HttpResponse:
    name, arguments = json.loads(request.body)
    try:
        return JsonResponse({"data": invoke(tools()[name], arguments, request)})
    except ToolError as error:
        return JsonResponse({"error": [error.code, error.message]})


class Tenants:
    """Middleware that tells views whose data they are to show."""

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        request.tenant = request.headers.get("X-Tenant", "nobody")
        return self._get_response(request)


urlpatterns = [path("mcp/", endpoint), *urls.urlpatterns]
