"""Tokens for agents: issuing one, and finding whose one is; the text of it is only ever with its holder."""

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
    """A new token that acts for the user, and its text: show it now, nothing can show it again.

    Any: a user of the project's own model. `scopes` are texts such as `*:read`, with spaces between them.

    Raises: ValidationError, for a name that is taken or cannot be shown, what is no scope, and a time that is over.
    """
    from handfast.django.models import AgentToken

    token = AgentToken(user=user, name=name, scopes=scopes, expires=_as_stored(expires))
    plain = prepare(token)
    token.full_clean()
    token.save()
    return token, plain


def prepare(token: "AgentToken") -> str:
    """Give a token that is not stored yet its digest; returns its text."""
    plain = f"{PREFIX}{secrets.token_urlsafe(_BYTES)}"
    token.prefix = plain[: len(PREFIX) + _SHOWN]
    token.digest = _digest(plain)
    return plain


def revoke(token: "AgentToken") -> None:
    """From now on it is refused. The first revocation counts."""
    if token.revoked is None:
        token.revoked = timezone.now()
        token.save(update_fields=["revoked"])


def find(plain: str) -> "AgentToken | None":
    """The token with this text, with its user; also one that is no longer good.

    The digest is looked up by an index, whose timing tells how far two digests agree. That helps nobody: nobody can
    make a text whose digest begins as wanted without trying as many as it would take to guess.
    """
    from handfast.django.models import AgentToken

    if not _FORM.fullmatch(plain):
        return None
    # Where writes go: on a copy that lags behind, a token that was just revoked would still be good.
    stored = AgentToken.objects.using(router.db_for_write(AgentToken))
    return stored.select_related("user").filter(digest=_digest(plain)).first()


def note_use(token: "AgentToken") -> None:
    """Write down that it was used, at most once a minute, whatever the number of processes."""
    now = timezone.now()
    if token.last_used is not None and now - token.last_used < _BETWEEN_NOTES:
        return
    database = token._state.db
    is_due = Q(last_used__isnull=True) | Q(last_used__lte=now - _BETWEEN_NOTES)
    try:
        with transaction.atomic(using=database):
            type(token).objects.using(database).filter(is_due, pk=token.pk).update(last_used=now)
    except DatabaseError as error:
        # A table that is locked or only read is no reason to send a caller away.
        _log.warning("token.use_not_noted: %s.", type(error).__name__)


def _digest(plain: str) -> str:
    return sha256(plain.encode()).hexdigest()


def _as_stored(moment: datetime | None) -> datetime | None:
    """With a time zone or without, as the project stores them."""
    if moment is None or timezone.is_aware(moment) == settings.USE_TZ:
        return moment
    return timezone.make_aware(moment) if settings.USE_TZ else timezone.make_naive(moment)
