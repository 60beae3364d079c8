"""What an error text says, as findings: fixed patterns for the phrases of pydantic, FastMCP, the SDK and handfast.

Nothing here knows a schema, or which contender a text is from.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

_QUOTED: Final = r"""(?:'[^']*'|"[^"]*")"""
_LIST: Final = rf"{_QUOTED}(?:(?:, | or | and ){_QUOTED})*"
_MESSAGE_OF: Final = re.compile(r"^  (\S.*?)(?: \[type=\w+, input_value=.*)?$")
_DECLARED: Final = re.compile(r"(?:Declared|Allowed|Known|Valid) fields: \[(.*?)\]", re.DOTALL)
_UNKNOWN: Final = re.compile(rf"Arguments? ({_LIST})(?: and \d+ more)? (?:is|are) not (?:a )?declared fields?")
_ALMOST: Final = re.compile(r"Argument '([^']*)' is spelled almost like the declared field '([^']*)'")
_UNWRAP: Final = re.compile(rf"Unwrap ({_QUOTED}): send (.*?) (?:directly|inside ({_QUOTED})), not inside")
_REMOVE: Final = re.compile(rf"Remove ({_QUOTED})")
_DID_YOU_MEAN: Final = re.compile(rf"[Dd]id you mean ({_QUOTED})(?: for ({_QUOTED}))?")
_INSIDE: Final = re.compile(rf"go inside ({_QUOTED})\. Send (\{{.*\}})")
_PUT_INSIDE: Final = re.compile(
    rf"(?:[Pp]ut|[Ss]end) (?:the fields of the action|them|it|({_LIST})) inside ({_QUOTED})"
)
_NEAREST: Final = re.compile(r"There is no action of this name\. (?:Nearest|Actions|Did you mean): ([^.?]+)[.?]")
_ACTION: Final = re.compile(r'"action" must be the name of an action\. Actions: ([^.]+)\.')
_OWN_OBJECT: Final = re.compile(rf"^({_QUOTED}) must be a JSON object")
_CLAUSES: Final = re.compile(r"do not fit what the tool declares: (.*?)\. Correct them", re.DOTALL)
_CLAUSE_START: Final = re.compile(r"; (?=(?:[^\s:;']+: )?(?:must|has|is|fits|does|contains)\b)")


@dataclass
class Finding:
    """One statement about a place in the call; what is not said is empty."""

    path: tuple[str, ...]
    missing: str = ""
    unknown: tuple[str, ...] = ()
    options: tuple[Any, ...] = ()  # Any: JSON
    types: tuple[str, ...] = ()
    form: str = ""  # date, datetime, uri, uuid, email
    bound: tuple[str, float] | None = None
    example: Any = None  # Any: JSON
    allowed: tuple[str, ...] = ()  # the names that an object may have
    renames: dict[str, str] = field(default_factory=dict)  # a name that was sent, and the one that was meant
    unwrap: tuple[str, str] | None = None  # a key whose inner fields belong one level up, or inside another key


def read_text(text: str) -> list[Finding]:
    return [*_from_lines(text), *_from_clauses(text), *_from_sentences(text)]


def quoted(text: str) -> tuple[str, ...]:
    return tuple(name[1:-1] for name in re.findall(_QUOTED, text))


def _from_lines(text: str) -> Iterator[Finding]:
    """pydantic's report: a line with the place, then an indented one with the message."""
    lines = text.splitlines()
    for place, line in pairwise(lines):
        said = _MESSAGE_OF.match(line)
        if place.startswith(" ") or said is None or line.startswith("   "):
            continue
        *steps, last = place.split(".")
        message = said[1]
        if message.startswith(("Field required", "Missing required")):
            yield Finding(tuple(steps), missing=last)
        elif message.startswith(("Extra inputs are not permitted", "Unexpected keyword argument")):
            yield Finding(tuple(steps), unknown=(last,))
        else:
            yield from _of_value((*steps, last), message)


def _from_clauses(text: str) -> Iterator[Finding]:
    """`items/0: must be a string; must have the property 'name'`."""
    body = _CLAUSES.search(text)
    for clause in _CLAUSE_START.split(body[1]) if body else ():
        place = re.match(r"([^\s:']+): ", clause)
        path = tuple(part for part in re.split(r"[/.\[\]]+", place[1]) if part) if place else ()
        said = clause[place.end() :] if place else clause
        if missing := re.match(r"must have the property '([^']*)'(?: ?\(?,? ?(.*?)\)?)?$", said):
            described = (
                next(_of_value((*path, missing[1]), f"must be {missing[2]}"), Finding(path))
                if missing[2]
                else Finding(path)
            )
            described.path, described.missing = path, missing[1]
            yield described
        elif unknown := re.match(rf"has \d+ propert(?:y|ies) that (?:is|are) not allowed(?:: ({_LIST}))?(.*)", said):
            names = quoted(unknown[1] or "")
            allowed = re.search(rf"allowed(?: here| there)?: ({_LIST})", unknown[2])
            yield Finding(
                path, unknown=names, allowed=quoted(allowed[1]) if allowed else (), renames=_renames(said, names)
            )
        else:
            yield from _of_value(path, said)


def _from_sentences(text: str) -> Iterator[Finding]:
    """The sentences that are about the whole call."""
    unknown = tuple(name for found in _UNKNOWN.finditer(text) for name in quoted(found[1]))
    if unknown:
        yield Finding((), unknown=unknown, renames=_renames(text, unknown))
    for almost in _ALMOST.finditer(text):
        yield Finding((), unknown=(almost[1],), renames={almost[1]: almost[2]})
    for found in _UNWRAP.finditer(text):
        yield Finding((), unwrap=(found[1][1:-1], (found[3] or "")[1:-1]))
    for removed in _REMOVE.finditer(text):
        yield Finding((), unknown=(removed[1][1:-1],))
    if declared := _DECLARED.search(text):
        yield Finding((), allowed=quoted(declared[1]))
    yield from _of_dispatchers(text)


def _of_dispatchers(text: str) -> Iterator[Finding]:
    if inside := _INSIDE.search(text):
        shown = quoted(inside[2])
        yield Finding((), unwrap=("", inside[1][1:-1]), unknown=tuple(name for name in shown if name != "action"))
    for put in _PUT_INSIDE.finditer(text):
        yield Finding((), unwrap=("", put[2][1:-1]), unknown=quoted(put[1] or ""))
    if nearest := _NEAREST.search(text):
        yield Finding(("action",), options=tuple(nearest[1].replace("'", "").replace('"', "").split(", ")))
    if action := _ACTION.search(text):
        yield Finding((), missing="action", options=tuple(action[1].split(", ")))
    if own := _OWN_OBJECT.search(text):
        yield Finding((own[1][1:-1],), types=("object",))


def _renames(text: str, names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for meant in _DID_YOU_MEAN.finditer(text):
        sent = meant[2][1:-1] if meant[2] else names[0] if names else ""
        found[sent] = meant[1][1:-1]
    return found


# --- what is said of one value -------------------------------------------------------------------------------------

_TYPES: Final = {
    "string": "string", "str": "string", "integer": "integer", "number": "number", "boolean": "boolean",
    "list": "array", "array": "array", "dictionary": "object", "object": "object", "null": "null", "None": "null",
}  # fmt: skip
_FORMS: Final = (
    (r"valid date\b|a date\b(?! and)", "date"), (r"date and time|datetime|date-time", "datetime"),
    (r"\bUR[LI]\b", "uri"),
    (r"UUID", "uuid"), (r"email", "email"),
)  # fmt: skip
_BOUNDS: Final = (
    (r"at least (\d+) (?:character|item)", "shortest"), (r"at most (\d+) (?:character|item)", "longest"),
    (r"(?:greater than or equal to|at least) (-?[\d.]+)", "least"),
    (r"(?:less than or equal to|at most) (-?[\d.]+)", "most"),
    (r"(?:greater|more) than (-?[\d.]+)", "above"), (r"less than (-?[\d.]+)", "below"),
)  # fmt: skip

_OPTION: Final = rf"(?:{_QUOTED}|-?\d[\d.]*|true|false|null|None)"
_OPTIONS: Final = re.compile(rf"(?:must be|should be)(?: one of)? ({_OPTION}(?:(?:, | or ){_OPTION})*)")


def _of_value(path: tuple[str, ...], said: str) -> Iterator[Finding]:
    """One message about one value: what it must be."""
    example = re.search(r"such as (\S+?)[.,;)]*(?:$|\s)", said)
    shown = _literal(example[1]) if example else None
    options = _OPTIONS.search(said)
    for pattern, form in _FORMS:
        if re.search(pattern, said):
            yield Finding(path, form=form, example=shown)
            return
    for pattern, bound in _BOUNDS:
        if limit := re.search(pattern, said):
            yield Finding(path, bound=(bound, float(limit[1].rstrip("."))))
            return
    if options:
        yield Finding(path, options=tuple(map(_literal, re.findall(_OPTION, options[1]))))
        return
    types = re.search(r"(?:must be|should be)(?: a valid)? (.*?)(?:, not |, unable|, got|$)", said)
    words = re.findall(r"[A-Za-z]+", types[1]) if types else []
    named = tuple(dict.fromkeys(_TYPES[word] for word in words if word in _TYPES))
    if named:
        members = re.search(r"array of (string|integer|number|boolean)s", said)
        yield Finding(path, types=named, example=[_SIMPLE[members[1]]] if members else shown)


_SIMPLE: Final[dict[str, Any]] = {"string": "text", "integer": 1, "number": 1, "boolean": True}  # Any: JSON


def _literal(text: str) -> Any:  # Any: JSON
    try:
        return json.loads(text)
    except ValueError:
        return text[1:-1] if text[:1] in ("'", '"') else text
