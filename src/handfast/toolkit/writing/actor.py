"""Actor: the identity of a caller, from authentication, never from arguments."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from handfast.core.call.guardrails import has_text
from handfast.core.words.wording import scrubbed

_LONGEST_LABEL = 256  # a client's id may be a URL
_LARGEST_ID = 2**128  # of a UUID; Python refuses to print much longer numbers


@dataclass(frozen=True, slots=True)
class Actor:
    """An identity that an audit can use: an id, or a name that is not blank."""

    id: str = ""
    name: str = ""


ActorResolver = Callable[[Any], Actor | None]  # Any: the SDK's request context; its HTTP request is in `.request`


def is_known(actor: object) -> bool:
    return bool(label_of(actor))


def label_of(actor: object) -> str:
    """The actor's name in records, one line or empty. Any object with an `id` or a `name` may be an actor."""
    if actor is None:
        return ""
    return scrubbed(identifier_of(actor) or name_of(actor), _LONGEST_LABEL)


def identifier_of(actor: object) -> str:
    """The id as text, or empty; it may be a string, a number or a UUID."""
    value = getattr(actor, "id", None)
    if isinstance(value, int | UUID) and not isinstance(value, bool):
        return str(value) if int(value) < _LARGEST_ID else ""
    return value.strip() if isinstance(value, str) and has_text(value) else ""


def name_of(actor: object) -> str:
    """The name, or empty if it is blank."""
    value = getattr(actor, "name", None)
    return value.strip() if isinstance(value, str) and has_text(value) else ""


def actor_of_environment() -> Actor | None:
    """The actor from HANDFAST_ACTOR: over stdio there is one caller, and the operator names it."""
    name = os.environ.get("HANDFAST_ACTOR", "").strip()
    return Actor(id=name) if name else None


def actor_of_request(context: Any) -> Actor | None:  # Any: the SDK's request context
    """The actor from the SDK's authentication over HTTP; over stdio, the one that the operator named."""
    request = getattr(context, "request", None)
    if request is None:
        return actor_of_environment()
    user = request.scope.get("user")
    token = getattr(user, "access_token", None)
    if token is None:
        return None  # not authenticated; the server's environment does not count over HTTP
    return Actor(id=str(getattr(token, "subject", None) or token.client_id))
