"""What the adapter stores in the project's database: tokens for agents, and results that are fetched in pieces."""

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from handfast.core.access.scopes import Scope, ScopeError, parse_scopes
from handfast.core.call.guardrails import has_text

_DIGEST: Final = 64  # characters of a SHA-256 in hex
LONGEST_OWNER: Final = 256  # characters, the most that records hold of a caller

if TYPE_CHECKING:
    _Moment: TypeAlias = models.DateTimeField[datetime | None, datetime | None]


class AgentToken(models.Model):
    """A token with which an agent acts for a user. Its text is shown once and never stored.

    Only a plain digest is stored: the text has 256 random bits, which cannot be guessed, so a slow hash or a salt would
    add nothing; and a plain digest can be looked up by an index.
    """

    user: "models.ForeignKey[models.Model, models.Model]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="handfast_tokens"
    )
    # Unique: a record names the caller `token:<name>`, and what is kept for a caller is found by that name.
    name: "models.CharField[str, str]" = models.CharField(max_length=100, unique=True)
    scopes: "models.TextField[str, str]" = models.TextField()
    prefix: "models.CharField[str, str]" = models.CharField(max_length=16, editable=False)
    digest: "models.CharField[str, str]" = models.CharField(max_length=_DIGEST, unique=True, editable=False)
    created: "models.DateTimeField[datetime, datetime]" = models.DateTimeField(auto_now_add=True)
    expires: "_Moment" = models.DateTimeField(null=True, blank=True)
    last_used: "_Moment" = models.DateTimeField(null=True, editable=False)
    revoked: "_Moment" = models.DateTimeField(null=True, editable=False)

    objects: ClassVar["models.Manager[AgentToken]"] = models.Manager()

    class Meta:
        verbose_name = "token for an agent"
        verbose_name_plural = "tokens for agents"
        ordering = ("name",)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def clean(self) -> None:
        """Raises: ValidationError, for a name that a log line cannot hold, unusable scopes, or a past expiry."""
        if self.name and not (has_text(self.name) and self.name.isprintable()):
            raise ValidationError({"name": "A name has only characters that can be seen. Choose another."})
        self.name = self.name.strip()
        try:
            scopes = parse_scopes(self.scopes)
        except ScopeError as error:
            raise ValidationError({"scopes": str(error)}) from None
        if self.scopes and not scopes:
            raise ValidationError({"scopes": "Name at least one scope; * is good for everything."})
        self.scopes = " ".join(map(str, scopes))
        if self._state.adding and self.is_expired:
            raise ValidationError({"expires": "This time is over. Choose a later one, or none."})

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= timezone.now()

    def granted(self) -> tuple[Scope, ...]:
        """The scopes of the token. Raises: ScopeError, where the column holds something else."""
        return parse_scopes(self.scopes)


class KeptResult(models.Model):
    """The pieces of one large result, which its caller can fetch from any process until they expire."""

    digest: "models.CharField[str, str]" = models.CharField(max_length=_DIGEST, primary_key=True)
    owner: "models.CharField[str, str]" = models.CharField(max_length=LONGEST_OWNER)
    tool: "models.CharField[str, str]" = models.CharField(max_length=128)
    arguments: "models.CharField[str, str]" = models.CharField(max_length=_DIGEST)
    pieces: "models.BinaryField[bytes, bytes]" = models.BinaryField()
    beside: "models.BinaryField[bytes, bytes]" = models.BinaryField()
    items_key: "models.TextField[str, str]" = models.TextField()
    total_items: "models.BigIntegerField[int | None, int | None]" = models.BigIntegerField(null=True)
    size: "models.BigIntegerField[int, int]" = models.BigIntegerField()
    # Milliseconds since 1970: in local time without a zone one hour of the year occurs twice, and one is missing.
    expires: "models.BigIntegerField[int, int]" = models.BigIntegerField()

    objects: ClassVar["models.Manager[KeptResult]"] = models.Manager()

    class Meta:
        default_permissions = ()  # only its caller may see it
        indexes = (
            models.Index(fields=["expires"], name="handfast_kept_expires"),
            models.Index(fields=["owner", "expires"], name="handfast_kept_owner"),
        )
