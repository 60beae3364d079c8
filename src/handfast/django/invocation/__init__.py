"""Invocation: a call of a tool goes through the view itself, so that it may do exactly what an HTTP caller may."""

from handfast.django.invocation.bulk import MOST_ITEMS, invoke_each, takes_many
from handfast.django.invocation.invoke import invoke

__all__ = ["MOST_ITEMS", "invoke", "invoke_each", "takes_many"]
