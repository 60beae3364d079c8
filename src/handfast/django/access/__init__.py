"""Access: the caller of a request, the scopes of its token, and the tools that it is shown."""

from handfast.django.access.callers import ApiCaller, CallerRefused, identify_caller, label
from handfast.django.access.permitted import is_in_scope, may_use, usable_tools
from handfast.django.access.tokens import issue, revoke

__all__ = [
    "ApiCaller",
    "CallerRefused",
    "identify_caller",
    "is_in_scope",
    "issue",
    "label",
    "may_use",
    "revoke",
    "usable_tools",
]
