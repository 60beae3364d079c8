"""What is the framework's own, and what the code that stands in its place makes use of."""

import functools
from typing import Any

import pytest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from rest_framework import generics, mixins, serializers, viewsets
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from handfast.django.discovery.views.overridden import (
    hands_over,
    is_own_way,
    is_untouched,
    names_in,
    read_handler,
)


class Views(viewsets.ModelViewSet[Any]):
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().list(request, *args, **kwargs)

    @method_decorator(never_cache)
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response = super().create(request, *args, **kwargs)
        response.data["more"] = 1
        return response

    def destroy(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response({"gone": True})

    def recent(self, request: Request) -> Response:
        return self.list(request)

    def publish(self, request: Request, pk: str) -> Response:
        dict[str, int]().update(list=1)
        return Response({"done": self.get_serializer(data=request.data, partial=True).is_valid()})


def enveloped(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return Response({"data": function(*args, **kwargs).data})

    return inner


def counted(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


class Wrapped(viewsets.ModelViewSet[Any]):
    @enveloped
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().list(request, *args, **kwargs)

    @counted
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return super().dispatch(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        response.data = {"data": response.data}
        return super().finalize_response(request, response, *args, **kwargs)


class Overriding(Views):
    def update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response({})


class Checking(generics.ListCreateAPIView[Any]):
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        if "owner" in request.data:
            raise PermissionDenied
        return super().post(request, *args, **kwargs)

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response = super().get(request, *args, **kwargs)
        response.data.append(len(request.data))
        return response


@pytest.mark.parametrize(
    ("view", "name", "like"),
    [
        (Views, "list", "list"),
        (Views, "retrieve", "retrieve"),
        (Views, "create", None),
        (Views, "update", "update"),
        (Views, "partial_update", "partial_update"),
        (Views, "destroy", None),
        (Views, "recent", "list"),
        (Views, "publish", None),
        (Views, "nothing", None),
        (Wrapped, "list", None),
        (Wrapped, "retrieve", "retrieve"),
        (Overriding, "update", None),
        (Overriding, "partial_update", None),
        (Overriding, "recent", "list"),
        (Checking, "post", "create"),
        (Checking, "get", None),
        (generics.ListCreateAPIView, "get", "list"),
        (generics.ListCreateAPIView, "post", "create"),
        (generics.RetrieveUpdateDestroyAPIView, "patch", "partial_update"),
        (generics.RetrieveUpdateDestroyAPIView, "delete", "destroy"),
    ],
)
def test_an_answer_is_the_frameworks_while_nobody_can_have_changed_it(view: Any, name: str, like: str | None) -> None:
    assert read_handler(view, name).answers_like == like


def test_what_a_handler_uses_includes_what_its_base_uses() -> None:
    assert {"filter_queryset", "paginate_queryset", "get_serializer"} <= read_handler(Views, "recent").uses
    assert read_handler(Views, "publish").uses == {"get_serializer"}
    assert {"partial"} <= read_handler(Views, "publish").words


class Bodies(viewsets.ModelViewSet[Any]):
    def by_argument(self, asked: Request) -> Response:
        return Response(asked.data)

    def by_view(self, *args: Any) -> Response:
        return Response(self.request.data)

    def answers(self, request: Request) -> Response:
        return Response(self.get_serializer(self.get_object()).data)


def test_reading_a_body_is_told_from_sending_data() -> None:
    names = ("by_argument", "by_view", "answers", "create", "partial_update", "retrieve")
    assert [read_handler(Bodies, name).reads_body for name in names] == [True, True, False, True, True, False]


def test_a_generic_view_is_known_by_the_action_it_calls() -> None:
    class Either(mixins.ListModelMixin, mixins.RetrieveModelMixin, generics.GenericAPIView[Any]):
        def get(self, request: Request, pk: str | None = None) -> Response:
            return self.list(request) if pk is None else self.retrieve(request)

    assert read_handler(generics.ListAPIView, "get").calls == ("list",)
    assert read_handler(Checking, "post").calls == ("create",)
    assert read_handler(Either, "get").calls == ("list", "retrieve")
    assert read_handler(Either, "get").answers_like is None


def test_a_builtin_of_the_same_name_is_no_action() -> None:
    class Sorted(generics.ListAPIView[Any]):
        def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
            return Response(list(self.get_queryset()))

    assert read_handler(Sorted, "get").calls == ()


def test_names_are_found_in_inner_functions_and_not_in_what_has_no_code() -> None:
    def outer(self: Any) -> Any:
        return [(lambda: self.inner(key="word"))() for _ in range(2)]

    used = names_in(outer)
    assert ("inner" in used.own, "range" in used.variables, "key" in used.words) == (True, True, True)
    assert not names_in(len).variables
    assert not names_in(3).variables


class Lower(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        return super().to_internal_value(data).lower()


class Strange(serializers.CharField):
    def to_internal_value(self, data: Any) -> str:
        return "always this"


def test_a_method_that_hands_on_what_it_got_touches_nothing() -> None:
    names = ("dispatch", "finalize_response", "initial", "no_such_name")
    assert [is_untouched(Wrapped, name) for name in names] == [True, False, True, True]


def test_a_method_is_the_frameworks_or_hands_over_to_it() -> None:
    classes = (serializers.CharField, Lower, Strange)
    assert [is_own_way(cls, "to_internal_value") for cls in classes] == [True, False, False]
    assert [hands_over(cls, "to_internal_value") for cls in classes] == [True, True, False]
    assert is_own_way(Lower, "no_such_name")
