"""Access: who calls, what their token is good for, and which tools they are shown."""

from handfast.django.access.callers import Caller, Refused, identify, label
from handfast.django.access.permitted import is_in_scope, may_use, usable
from handfast.django.access.tokens import issue, revoke

__all__ = ["Caller", "Refused", "identify", "is_in_scope", "issue", "label", "may_use", "revoke", "usable"]
