"""Discovery: a project's urls become descriptions of tools, with everything that is wrong with them."""

from handfast.django.discovery.discover import Discovery, discover, survey
from handfast.django.discovery.parameters.paths import PathParameter, PathRefused, PathTemplate, Target
from handfast.django.discovery.problems import Problem, ProblemId
from handfast.django.discovery.tool import QueryParameter, ViewTool

__all__ = [
    "Discovery",
    "PathParameter",
    "PathRefused",
    "PathTemplate",
    "Problem",
    "ProblemId",
    "QueryParameter",
    "Target",
    "ViewTool",
    "discover",
    "survey",
]
