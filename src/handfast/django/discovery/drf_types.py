"""Aliases for types of Django and REST framework without their parameters, which some have only in the stubs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from django.db import models
from rest_framework.fields import Field
from rest_framework.relations import RelatedField
from rest_framework.serializers import BaseSerializer, ListSerializer, Serializer

Json: TypeAlias = dict[str, Any]  # Any: JSON Schema

if TYPE_CHECKING:
    AnyField: TypeAlias = Field[Any, Any, Any, Any]  # Any: values of any type
    AnyRelation: TypeAlias = RelatedField[Any, Any, Any]  # Any: as above
    AnySerializer: TypeAlias = BaseSerializer[Any]  # Any: instances of any model, or of none
    AnyObjectSerializer: TypeAlias = Serializer[Any]  # Any: as above
    AnyListSerializer: TypeAlias = ListSerializer[Any]  # Any: as above
    AnyModelField: TypeAlias = models.Field[Any, Any]  # Any: whatever a column holds
    AnyQuerySet: TypeAlias = models.QuerySet[Any, Any]  # Any: rows of any model
else:
    AnyField, AnyRelation, AnySerializer = Field, RelatedField, BaseSerializer
    AnyObjectSerializer, AnyListSerializer = Serializer, ListSerializer
    AnyModelField, AnyQuerySet = models.Field, models.QuerySet

ViewFunction: TypeAlias = Callable[..., Any]  # Any: what a url pattern calls
