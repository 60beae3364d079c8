"""Names of tools: the url's segments after the API's root, then the action."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from handfast.django.discovery.views.routes import PathForm, read_forms

LONGEST: Final = 128  # as MCP has it
LONGEST_EVERYWHERE: Final = 64  # what several models take at most for the name of a function

_ROOT: Final = re.compile(r"api|v\d+(?:[._]\d+)*", re.IGNORECASE)
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
_PLACE: Final = "\0"


def segments_of(form: PathForm, language: str = "") -> list[str]:
    """The segments of a path that say what it is about: not its root, and no parameters."""
    path = _PLACE.join(form.literals).removeprefix(f"/{language}")
    found = [cleaned for part in path.split("/") if (cleaned := part.replace(_PLACE, "").strip("-._~$"))]
    while found and _ROOT.fullmatch(found[0]):
        found.pop(0)
    return found


def root_of(url: str) -> str:
    """What stands before the segments that make the name: `/api/v1/`."""
    found = "/"
    for part in url.strip("/").split("/"):
        if not _ROOT.fullmatch(part):
            break
        found = f"{found}{part}/"
    return found


def without_action(segments: Sequence[str], url_path: str | None) -> list[str]:
    """An extra action's own part of the url is named by the action, not once more by the url."""
    forms = read_forms(url_path) if url_path else ()
    own = segments_of(forms[0]) if forms else []
    if own and list(segments[-len(own) :]) == own:
        return list(segments[: -len(own)])
    return list(segments)


def tool_name(segments: Sequence[str], action: str) -> str:
    """`dcim__devices__list`: letters, digits, `_` and `-` as they are, anything else as `_`."""
    return "__".join(_UNFIT.sub("_", part) for part in (*segments, action))


def shortened(name: str) -> str:
    """A name within bounds: the same one every time, still ending in its action."""
    if len(name) <= LONGEST:
        return name
    digest = sha256(name.encode()).hexdigest()[:8]
    action = name.rpartition("__")[2][: LONGEST // 2]
    tail = f"_{digest}__{action}"
    return name[: LONGEST - len(tail)].rstrip("_") + tail
