"""Tokens for agents: issues, finds and revokes them; only its holder has the text of a token."""

import logging
import re
import secrets
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import DatabaseError, router, transaction
from django.db.models import Q
from django.utils import timezone

if TYPE_CHECKING:
    from handfast.django.models import AgentToken

PREFIX: Final = "hfa_"
_BYTES: Final = 32  # as many random bits as the digest has
_SHOWN: Final = 6  # characters after the prefix, to tell tokens apart by; over 200 bits stay unknown
_FORM: Final = re.compile(r"hfa_[A-Za-z0-9_-]{43}")
_BETWEEN_NOTES: Final = timedelta(minutes=1)  # a call should cost no write, and seconds are not needed

_log = logging.getLogger("handfast.django")


def issue(user: Any, *, name: str, scopes: str, expires: datetime | None = None) -> tuple["AgentToken", str]:
    """Creates a token that acts for the user. Returns it with its text, which cannot be shown again later.

    Any: a user of the project's own model. `scopes` are texts such as `*:read`, with spaces between them.

    Raises: ValidationError, for a name that is taken or cannot be shown, an invalid scope, or an expiry in the past.
    """
    from handfast.django.models import AgentToken

    token = AgentToken(user=user, name=name, scopes=scopes, expires=_as_stored(expires))
    plain = prepare(token)
    token.full_clean()
    token.save()
    return token, plain


def prepare(token: "AgentToken") -> str:
    """Gives a token that is not stored yet its prefix and digest; returns its text."""
    plain = f"{PREFIX}{secrets.token_urlsafe(_BYTES)}"
    token.prefix = plain[: len(PREFIX) + _SHOWN]
    token.digest = _digest(plain)
    return plain


def revoke(token: "AgentToken") -> None:
    """Revokes a token from now on; one that is revoked already keeps its time."""
    if token.revoked is None:
        token.revoked = timezone.now()
        token.save(update_fields=["revoked"])


def find(plain: str) -> "AgentToken | None":
    """The token with this text, with its user; also one that was revoked or has expired.

    The digest is looked up by an index, whose timing shows how far two digests agree. An attacker gains nothing by it:
    finding a text whose digest begins as wanted takes as many tries as guessing.
    """
    from handfast.django.models import AgentToken

    if not _FORM.fullmatch(plain):
        return None
    # Read where writes go: on a replica that lags behind, a token that was just revoked would still be good.
    stored = AgentToken.objects.using(router.db_for_write(AgentToken))
    return stored.select_related("user").filter(digest=_digest(plain)).first()


def note_use(token: "AgentToken") -> None:
    """Stores the time of use, at most once a minute, whatever the number of processes."""
    now = timezone.now()
    if token.last_used is not None and now - token.last_used < _BETWEEN_NOTES:
        return
    database = token._state.db
    is_due = Q(last_used__isnull=True) | Q(last_used__lte=now - _BETWEEN_NOTES)
    try:
        with transaction.atomic(using=database):
            type(token).objects.using(database).filter(is_due, pk=token.pk).update(last_used=now)
    except DatabaseError as error:
        # A locked or read-only table must not refuse a caller.
        _log.warning("token.use_not_noted: %s.", type(error).__name__)


def _digest(plain: str) -> str:
    return sha256(plain.encode()).hexdigest()


def _as_stored(moment: datetime | None) -> datetime | None:
    """The moment with or without a time zone, as the project stores it."""
    if moment is None or timezone.is_aware(moment) == settings.USE_TZ:
        return moment
    return timezone.make_aware(moment) if settings.USE_TZ else timezone.make_naive(moment)
