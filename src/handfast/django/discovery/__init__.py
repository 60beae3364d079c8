"""Discovery: a project's urls become descriptions of tools, with everything that is wrong with them."""

from handfast.django.discovery.discover import Discovery, discover, survey
from handfast.django.discovery.parameters.paths import PathParameter, PathRefused, PathTemplate, UrlTarget
from handfast.django.discovery.problems import DiscoveryProblem, ProblemId
from handfast.django.discovery.tool import QueryParameter, ViewTool

__all__ = [
    "Discovery",
    "DiscoveryProblem",
    "PathParameter",
    "PathRefused",
    "PathTemplate",
    "ProblemId",
    "QueryParameter",
    "UrlTarget",
    "ViewTool",
    "discover",
    "survey",
]
