"""Everything that is wrong with the tools of a project: discovery's problems, and what their code would do to calls."""

from collections.abc import Iterable

from handfast.django.checks.catalogue import Finding, in_order
from handfast.django.checks.lost_input import lost_input
from handfast.django.checks.open_writes import open_writes
from handfast.django.checks.writes import writes
from handfast.django.discovery import Discovery
from handfast.django.discovery.problems import Problem
from handfast.django.discovery.views.guarded_calls import without_database


def surveyed_findings(found: Discovery, *, may_query: bool = False) -> list[Finding]:
    """`may_query`: serializers may read their fields from the database, as in discovery."""
    with without_database(on_request=may_query):
        losses = [finding for write in writes(found.tools) for finding in lost_input(write)]
        return in_order([*_told(found.problems), *losses, *open_writes(found.tools)])


def _told(problems: Iterable[Problem]) -> list[Finding]:
    return [Finding(one.id, one.message, one.hint, one.where) for one in problems]
