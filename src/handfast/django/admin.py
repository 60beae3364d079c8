"""The admin page of tokens for agents: issue one, see where it is used, revoke it."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from handfast.django.access.tokens import prepare, revoke
from handfast.django.models import AgentToken

if TYPE_CHECKING:
    _Form = ModelForm[AgentToken]
    _Page = admin.ModelAdmin[AgentToken]
else:
    _Form, _Page = ModelForm, admin.ModelAdmin


class AgentTokenForm(_Form):
    class Meta:
        model = AgentToken
        fields = ("user", "name", "scopes", "expires")
        help_texts: ClassVar = {
            "name": "What the log calls it, such as the name of the agent.",
            "scopes": (
                "Which tools it is good for, with spaces between them: <code>*</code>, <code>*:read</code>,"
                " <code>django/contacts__*</code>, <code>django/contacts__*:write</code>."
            ),
            "expires": "Empty: never.",
        }


@admin.register(AgentToken)
class AgentTokenAdmin(_Page):
    """Only superusers see, issue and revoke tokens for others: a token is as good as its user's password."""

    form = AgentTokenForm
    list_display = ("name", "user", "begins_with", "scopes", "state", "last_used", "expires", "created")
    list_filter = (("revoked", admin.EmptyFieldListFilter),)
    list_select_related = ("user",)
    search_fields = ("name", "prefix")
    raw_id_fields = ("user",)
    actions = ("revoke_selected",)
    fields = ("user", "name", "scopes", "expires")

    @admin.display(description="begins with", ordering="prefix")
    def begins_with(self, token: AgentToken) -> str:
        return f"{token.prefix}…"

    @admin.display(description="state")
    def state(self, token: AgentToken) -> str:
        if token.revoked is not None:
            return "revoked"
        return "expired" if token.is_expired else "good"

    def get_queryset(self, request: HttpRequest) -> "QuerySet[AgentToken]":
        found = super().get_queryset(request)
        return found if _is_superuser(request) else found.filter(user=request.user)

    def get_fields(self, request: HttpRequest, obj: AgentToken | None = None) -> Any:  # Any: as Django has it
        if obj is None:
            return self.fields if _is_superuser(request) else ("name", "scopes", "expires")
        return (*self.fields, "begins_with", "state", "created", "last_used", "revoked")

    def get_readonly_fields(self, _request: HttpRequest, obj: AgentToken | None = None) -> Any:  # Any: as above
        """Keeps the user and the name of a stored token fixed: records know the token by its name."""
        return () if obj is None else ("user", "name", "begins_with", "state", "created", "last_used", "revoked")

    def save_model(self, request: HttpRequest, obj: AgentToken, form: Any, change: bool) -> None:  # Any: as above
        if change:
            super().save_model(request, obj, form, change)
            return
        if not _is_superuser(request):
            obj.user = request.user  # type: ignore[assignment]  # only signed-in users get here
        plain = prepare(obj)
        super().save_model(request, obj, form, change)
        messages.warning(request, f"The token is {plain} - copy it now, it is not shown again.")

    @admin.action(description="Revoke the selected tokens", permissions=["change"])
    def revoke_selected(self, request: HttpRequest, chosen: "QuerySet[AgentToken]") -> None:
        still_good = list(chosen.filter(revoked__isnull=True))
        for token in still_good:
            revoke(token)
            self.log_change(request, token, "Revoked.")
        messages.success(request, f"Revoked {len(still_good)} of {chosen.count()}.")


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))
