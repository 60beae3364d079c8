"""The literal-minded agent: it reads an error text and its own faulty call, never a schema, and repairs it once."""

import json
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from difflib import SequenceMatcher
from typing import Any, Final

from benchmarks.repair.reading import Finding, read_text

Value = Any  # any JSON value
_LIKE: Final = 0.6  # names that have less in common are different names
_ALIKE: Final = 0.8  # where the text does not say that a name is wrong, more is needed to doubt it
_DEFAULTS: Final[dict[str, Value]] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
_FORMS: Final[dict[str, Value]] = {
    "date": "2026-01-01",
    "datetime": "2026-01-01T00:00:00Z",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "email": "someone@example.com",
}


def repair(text: str, faulty: Mapping[str, Value]) -> Value:
    """The call as it is sent again. Names first, then what is missing, then values."""
    findings = read_text(text)
    call = deepcopy(dict(faulty))
    for finding in findings:
        _unwrap(call, finding)
    for place in dict.fromkeys(finding.path for finding in findings):
        holder = _find(call, place)
        if isinstance(holder, dict):
            _settle_names(holder, [finding for finding in findings if finding.path == place])
    for steps, finding in _by_place(call, findings).items():
        _change_value(call, steps, finding)
    return call


def _by_place(call: Value, findings: list[Finding]) -> dict[tuple[str | int, ...], Finding]:
    """What is said of each value; of alternatives all types, since any of them will do."""
    found: dict[tuple[str | int, ...], Finding] = {}
    for finding in findings:
        place = _steps(call, finding.path)
        if not place or finding.missing or finding.unknown:
            continue
        earlier = found.setdefault(place, finding)
        if earlier is not finding:
            earlier.types += finding.types
    return found


# --- names ---------------------------------------------------------------------------------------------------------


def _unwrap(call: dict[str, Value], finding: Finding) -> None:
    if finding.unwrap is None:
        return
    key, target = finding.unwrap
    if key:
        inner = call.get(key)
        if isinstance(inner, dict):
            del call[key]
            (call.setdefault(target, {}) if target else call).update(inner)
        return
    moved = [name for name in finding.unknown if name in call and name != target]
    if moved:
        call[target] = {**call.get(target, {}), **{name: call.pop(name) for name in moved}}


def _settle_names(holder: dict[str, Value], findings: list[Finding]) -> None:
    """Rename what was misspelt, take fields out of an object that is not known, leave out what nothing is like."""
    renames = {sent: meant for finding in findings for sent, meant in finding.renames.items()}
    missing = {finding.missing: finding for finding in findings if finding.missing and finding.missing not in holder}
    allowed = [name for finding in findings for name in finding.allowed]
    unknown = [name for finding in findings if finding.unwrap is None for name in finding.unknown]
    if allowed and not unknown and any(finding.missing or finding.unknown for finding in findings):
        unknown = [name for name in holder if name not in allowed]
    wrong = [name for name in dict.fromkeys(unknown) if name in holder]
    if len(missing) == 1 and wrong and not allowed and not renames:
        _fill_only(holder, next(iter(missing)), wrong)
    for name in wrong:
        if name in holder:
            _settle_unknown(holder, name, renames.get(name, ""), [*missing, *allowed])
    for name, finding in missing.items():
        if name not in holder:
            _settle_missing(holder, name, finding, known={*missing, *allowed})


def _fill_only(holder: dict[str, Value], missing: str, wrong: list[str]) -> None:
    """One name is missing and others are not known: the one that was sent is it, and several belong inside of it."""
    if any(isinstance(holder[name], dict) and missing in holder[name] for name in wrong):
        return
    if len(wrong) == 1:
        _rename(holder, wrong[0], missing)
    elif not nearest(missing, wrong):
        holder[missing] = {name: holder.pop(name) for name in wrong}


def _settle_unknown(holder: dict[str, Value], name: str, meant: str, candidates: list[str]) -> None:
    value = holder[name]
    free = [other for other in candidates if other not in holder]
    if isinstance(value, dict) and not meant and (not candidates or any(key in candidates for key in value)):
        del holder[name]
        holder.update(value)
        return
    target = meant or nearest(name, free)
    if target and target not in holder:
        _rename(holder, name, target)
    else:
        del holder[name]


def _settle_missing(holder: dict[str, Value], name: str, finding: Finding, *, known: set[str]) -> None:
    """A text may name only what is missing: then what was sent under a like name, or inside an object, was meant."""
    for key, value in holder.items():
        if isinstance(value, dict) and name in value and key not in known:
            del holder[key]
            holder.update(value)
            return
    like = nearest(name, [key for key in holder if key not in known], least=_ALIKE)
    if like:
        _rename(holder, like, name)
        return
    holder[name] = _make(finding)


def _rename(holder: dict[str, Value], old: str, new: str) -> None:
    items = [(new if key == old else key, value) for key, value in holder.items()]
    holder.clear()
    holder.update(items)


def nearest(name: str, others: Iterable[str], *, least: float = _LIKE) -> str:
    """The most alike, whatever the case and the separators; nothing where none is."""
    wanted = _plain(name)
    scored = [(SequenceMatcher(None, wanted, _plain(other)).ratio(), other) for other in others]
    best = max(scored, key=lambda pair: pair[0], default=(0.0, ""))
    return best[1] if best[0] >= least else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


# --- values --------------------------------------------------------------------------------------------------------


def _make(finding: Finding) -> Value:
    """A value for a field of which nothing was sent: by what the text says of it, else some text."""
    if finding.options:
        return finding.options[0]
    if finding.example is not None:
        return finding.example
    if finding.form:
        return _FORMS[finding.form]
    return deepcopy(_DEFAULTS.get(finding.types[0], "text")) if finding.types else "text"


def _change_value(call: Value, place: tuple[str | int, ...], finding: Finding) -> None:
    holder = _find(call, place[:-1])
    value = holder[place[-1]]
    if finding.options:
        holder[place[-1]] = _nearest_option(value, finding.options)
    elif finding.types:
        holder[place[-1]] = _as_type(value, finding.types)
    elif finding.form:
        holder[place[-1]] = _as_form(value, finding)
    elif finding.bound:
        holder[place[-1]] = _within(value, *finding.bound)


def _nearest_option(value: Value, options: tuple[Value, ...]) -> Value:
    texts = {str(option): option for option in options}
    if isinstance(value, list) and len(value) == 1 and str(value[0]) in texts:
        return texts[str(value[0])]
    if isinstance(value, dict) and len(value) == 1 and str(next(iter(value.values()))) in texts:
        return texts[str(next(iter(value.values())))]
    same = [option for text, option in texts.items() if text.casefold() == str(value).casefold()]
    return same[0] if same else texts.get(nearest(str(value), texts), options[0])


def _as_type(value: Value, types: tuple[str, ...]) -> Value:
    """The same value as one of the types asked for: read, taken out of a list or object, or put into one."""
    candidates: list[Value] = []
    if isinstance(value, str):
        try:
            candidates.append(json.loads(value))
        except ValueError:
            candidates.append(value.strip())
    if isinstance(value, list) and len(value) == 1:
        candidates.append(value[0])
    if isinstance(value, dict) and len(value) == 1:
        candidates.append(next(iter(value.values())))
    for kind in types:
        for candidate in candidates:
            if _is(candidate, kind):
                return candidate
    kind = types[0]
    if kind == "string":
        return value if isinstance(value, str) else json.dumps(value)
    if kind == "array":
        return [value]
    return deepcopy(_DEFAULTS.get(kind, value))


def _is(value: Value, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return isinstance(value, {"string": str, "array": list, "object": dict}[kind])


def _as_form(value: Value, finding: Finding) -> Value:
    text = str(value[0]) if isinstance(value, list) and value else str(value)
    if isinstance(value, dict) and len(value) == 1:
        text = str(next(iter(value.values())))
    if finding.form == "date" and (day := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", text)):
        return f"{day[3]}-{int(day[2]):02}-{int(day[1]):02}"
    if finding.form == "uri":
        return text if "://" in text else f"https://{text}"
    return text


def _within(value: Value, side: str, limit: float) -> Value:
    number: float = int(limit) if limit == int(limit) else limit
    match side:
        case "least" | "most":
            return number
        case "above":
            return number + 1
        case "below":
            return number - 1
        case "shortest" if isinstance(value, str):
            return value + "x" * (int(limit) - len(value))
        case "shortest" if isinstance(value, list):
            return value + (value[-1:] or ["text"]) * (int(limit) - len(value))
        case "longest" if isinstance(value, str | list):
            return value[: int(limit)]
        case _:
            return value


# --- places --------------------------------------------------------------------------------------------------------


def _steps(call: Value, path: tuple[str, ...]) -> tuple[str | int, ...]:
    """The way to a place; what is no step in the call, such as the label of an alternative, is passed over."""
    steps: list[str | int] = []
    for part in path:
        if isinstance(call, dict) and part in call:
            steps.append(part)
        elif isinstance(call, list) and part.isdigit() and int(part) < len(call):
            steps.append(int(part))
        else:
            continue
        call = call[steps[-1]]
    return tuple(steps)


def _find(call: Value, path: tuple[str | int, ...]) -> Value:
    for step in _steps(call, tuple(map(str, path))):
        call = call[step]
    return call
