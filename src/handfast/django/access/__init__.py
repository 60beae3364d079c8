"""Access: who calls, what their token is good for, and which tools they are shown."""

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
