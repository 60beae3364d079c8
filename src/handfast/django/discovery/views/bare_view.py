"""A view as it would be in an anonymous call: for asking it about serializers, rows and filters."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from handfast.django.discovery.drf_types import AnyQuerySet, AnySerializer
from handfast.django.discovery.problems import DiscoveryProblems, ProblemId, dotted_name
from handfast.django.discovery.schemas.model_values import Model
from handfast.django.discovery.views.guarded_calls import Answered, Raised, ask_rows, call_guarded
from handfast.django.discovery.views.operations import FoundView, Operation
from handfast.django.discovery.views.overridden import CRUD, is_own_way


def bare_view(view: FoundView, operation: Operation, groups: Iterable[str]) -> APIView:
    """A view with an anonymous request, its action, and None for each argument in its path."""
    instance: Any = view.cls(**view.initkwargs)  # Any: attributes that only viewsets have
    instance.args = ()
    instance.kwargs = dict.fromkeys(groups)
    instance.format_kwarg = None
    instance.headers = {}
    instance.request = _bare_request(operation.method, instance)
    if isinstance(instance, ViewSetMixin):
        instance.action_map = dict(view.actions or {})
        instance.action = operation.handler
    found: APIView = instance
    return found


def _bare_request(method: str, view: APIView) -> Request:
    plain = HttpRequest()
    plain.method = method.upper()
    plain.path = plain.path_info = "/"
    plain.META |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80"}
    request = Request(plain)
    scheme = view.versioning_class() if view.versioning_class is not None else None
    request.version = getattr(scheme, "default_version", None)
    request.versioning_scheme = scheme
    return request


@dataclass(frozen=True, slots=True)
class AskedView:
    """A bare view and what it answered."""

    view: APIView
    where: str
    serializer: AnySerializer | None
    is_specific: bool  # a viewset chose its serializer for this action, and would not for any other
    model: Model | None
    queryset: AnyQuerySet | None


def ask_view(view: FoundView, operation: Operation, instance: APIView, findings: DiscoveryProblems) -> AskedView:
    where = f"{view.name}.{operation.handler}"
    serializer = _serializer(instance, where, findings)
    queryset = _queryset(instance, serializer)
    return AskedView(
        instance,
        where,
        serializer,
        is_specific=serializer is not None and _is_specific(type(_child(serializer)), view, operation),
        model=getattr(queryset, "model", None) or _model_of(serializer),
        queryset=queryset,
    )


def _is_specific(chosen: type, view: FoundView, operation: Operation) -> bool:
    """Whether another action of the viewset would be given another serializer; only asked of writes of its own."""
    if not view.is_viewset or operation.action in CRUD or operation.is_read:
        return False
    if view.initkwargs.get("serializer_class") is chosen:
        return True
    other: Any = bare_view(view, operation, ())  # Any: attributes that only viewsets have
    other.action = None
    answer = ask_rows(lambda: other.get_serializer_class())
    return isinstance(answer, Answered) and answer.value is not chosen


def _serializer(view: APIView, where: str, findings: DiscoveryProblems) -> AnySerializer | None:
    """The serializer that the view would use, or that of its `serializer_class` where it cannot say."""
    if not hasattr(view, "get_serializer_class"):
        return _made(getattr(view, "serializer_class", None), view, where, findings)
    if getattr(view, "serializer_class", None) is None and is_own_way(type(view), "get_serializer_class"):
        return None  # the framework would only raise
    chosen = ask_rows(view.get_serializer_class)
    if not isinstance(chosen, Raised):
        note_rows(chosen, type(view), findings)
        return _made(chosen.value, view, where, findings)
    fallback = getattr(view, "serializer_class", None)
    findings.add(
        ProblemId.SERIALIZER_UNKNOWN,
        f"get_serializer_class() raised {chosen.reason}; "
        + ("`serializer_class` is used instead." if fallback else "so what is taken and sent is not known."),
        hint="Let it answer for an anonymous user and without an object, or set `serializer_class`.",
        where=where,
    )
    return _made(fallback, view, where, findings)


def _made(
    cls: Any, view: APIView, where: str, findings: DiscoveryProblems
) -> AnySerializer | None:  # Any: foreign code's answer
    if not (isinstance(cls, type) and issubclass(cls, BaseSerializer)):
        return None
    made = ask_rows(lambda: _instance(cls, view))
    if not isinstance(made, Raised):
        note_rows(made, cls, findings)
        return made.value
    findings.add(
        ProblemId.SERIALIZER_UNUSABLE,
        f"{dotted_name(cls)} cannot be made: {made.reason}",
        hint="Let it be made without an instance and without data, for an anonymous user.",
        where=where,
    )
    return None


def note_rows(answer: Answered[Any], asked: type, findings: DiscoveryProblems) -> None:  # Any: whatever was asked for
    if answer.by_query:
        findings.add(
            ProblemId.FIELDS_STORED,
            "Asks the database for its fields, which happens once: what changes there is not seen before a restart.",
            hint="Restart the server after such a change.",
            where=dotted_name(asked),
        )


def _instance(cls: type[AnySerializer], view: APIView) -> AnySerializer:
    if isinstance(view, GenericAPIView) and not is_own_way(type(view), "get_serializer"):
        made: AnySerializer = view.get_serializer()
        return made
    context = view.get_serializer_context() if isinstance(view, GenericAPIView) else {"request": view.request}
    return cls(context=context)


def _child(serializer: AnySerializer) -> object:
    return getattr(serializer, "child", serializer)


def _queryset(view: APIView, serializer: AnySerializer | None) -> AnyQuerySet | None:
    """Some queryset of the view's model; which rows are in it does not matter here."""
    own = getattr(view, "queryset", None)
    if getattr(own, "model", None) is not None:
        found: AnyQuerySet = own.all()  # type: ignore[union-attr]  # what has a model has rows
        return found
    if hasattr(view, "get_queryset") and not is_own_way(type(view), "get_queryset"):
        answer = call_guarded(view.get_queryset)
        if not isinstance(answer, Raised) and getattr(answer.value, "model", None) is not None:
            return answer.value  # type: ignore[no-any-return]  # it has a model, so it is a queryset
    model = _model_of(serializer)
    return None if model is None else model._default_manager.all()


def _model_of(serializer: AnySerializer | None) -> Model | None:
    model = getattr(getattr(_child(serializer), "Meta", None), "model", None) if serializer is not None else None
    return model if isinstance(model, type) else None
