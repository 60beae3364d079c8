"""ViewTool: the description of one tool that a view becomes, made once and never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from handfast.django.decorators import ToolKind
from handfast.django.discovery.drf_types import Json, ViewFunction
from handfast.django.discovery.parameters.paths import PathTemplate

# How several values of one parameter are written: `a=1,2` or `a=1&a=2`. A single value is written as it is.
ListStyle: TypeAlias = Literal["comma", "repeat"]


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """An argument that goes into the query: `name` is both the argument and the key."""

    name: str
    schema: Json
    style: ListStyle = "repeat"
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTool:
    """What an agent reads of a tool, and all that is needed to call the view as its url would.

    Every argument belongs to exactly one of the path (`path.parameters`), the query (`query`) and the body (`body`).
    """

    name: str
    description: str
    method: str  # GET, POST, PUT, PATCH, DELETE
    path: PathTemplate
    kind: ToolKind
    annotations: Mapping[str, bool]
    input_schema: Json
    output_schema: Json  # of the data alone; {}: anything
    query: tuple[QueryParameter, ...] = ()
    body: tuple[str, ...] | None = None  # the arguments that go into the body; None: it has none

    callback: ViewFunction  # as the url pattern has it, with every decorator around the view
    view: type[APIView]
    action: str
    handler: str  # the method of the view
    initkwargs: Mapping[str, Any] = field(default_factory=dict)  # Any: whatever as_view() was given
    url_name: str | None = None  # with its namespaces
    is_list: bool = False
    is_detail: bool = False
    is_partial: bool = False
    takes_list: bool = False  # the body is the list in the argument `objects`
    input_serializer: type[BaseSerializer[Any]] | None = None  # Any: of any model, or of none
    output_serializer: type[BaseSerializer[Any]] | None = None  # Any: as above

    @property
    def route(self) -> str:
        """The path for people, with the arguments in braces."""
        return self.path.route
