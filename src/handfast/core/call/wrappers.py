"""Texts for undeclared objects: wrappers to take apart, misspelt names of declared objects, and what is neither."""

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice

from handfast.core.bounds import MOST_OFFENDERS
from handfast.core.call.field_lists import declared_line, last_name, quoted_names
from handfast.core.schema.declared import Declared
from handfast.core.words.nearest import nearest
from handfast.core.words.redaction import scrub_name

_MOST_FIELDS = 21  # of one object that are looked at: one more than a list shows
_MOST_DOUBTED = 10  # undeclared names inside of objects that are compared with the declared ones
_MOST_WRAPS = 3  # objects that hold nothing but one other object
_SURELY_MEANT = 0.7  # likeness that counts for more than the names inside: `adress`, not `data` for `metadata`


def find_nested_wrappers(arguments: Mapping[str, object], declared: Declared, ignore: frozenset[str]) -> list[str]:
    """The undeclared arguments whose value is an object, in call order; the key's name does not matter."""
    return [
        key
        for key, value in arguments.items()
        if isinstance(value, dict) and key not in declared.known and key not in ignore and not declared.is_open(key)
    ]


def nested_wrapper_message(
    arguments: Mapping[str, object],
    declared: Declared,
    ignore: frozenset[str] = frozenset(),
    *,
    inside: str = "",
    sent: Set[str] = frozenset(),
) -> str | None:
    """The text that tells an agent how to repair a wrapped call without another tools/list, or None.

    `inside` is the field that the declared ones belong in, where that is not the top level; `sent` are names that were
    sent there besides `arguments`.
    """
    offenders = find_nested_wrappers(arguments, declared, ignore)
    if not offenders:
        return None
    shown = offenders[:MOST_OFFENDERS]
    lines = [f"Argument '{scrub_name(key)}' is not a declared field and its value is a nested object." for key in shown]
    if len(offenders) > len(shown):
        lines.append(f"So are {len(offenders) - len(shown)} more.")
    words = _Advice(declared, arguments.keys() | sent, inside, doubted=max(1, _MOST_DOUBTED // len(shown)))
    advice = [words.on(key, _object(arguments[key])) for key in shown]
    lines.append(_cause(inside, is_renamed=words.renamed == len(shown)))
    return "\n".join([*lines, *advice, declared_line(declared)])


def _cause(inside: str, *, is_renamed: bool) -> str:
    if is_renamed:
        return "Likely cause: another name for a declared field" + (f' — send it inside "{inside}".' if inside else ".")
    where = f'inside "{inside}"' if inside else "flat at the top level"
    return f"Likely cause: REST-style wrapper — send fields {where}."


def object_meant(key: str, inner: Mapping[str, object], declared: Declared, sent: Set[str]) -> str:
    """The declared object that was sent under another name: of a like name, or with more of these fields; or nothing.

    The fields of a wrapper are declared beside each other and not sent yet.
    """
    if not inner:
        return ""
    free = [name for name in declared.objects if name not in sent]
    flat = len((inner.keys() & declared.known) - sent)
    shared = {name: len(inner.keys() & declared.inside.get(name, frozenset())) for name in free}
    for name in nearest(last_name(key), free):
        is_closer = shared[name] >= flat if declared.inside.get(name) else nearest(key, [name], least=_SURELY_MEANT)
        if not flat or is_closer:
            return name
    most = max(shared, key=shared.__getitem__, default="")
    return most if most and shared[most] > flat else ""


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class _Fields:
    """What can be done with the fields of an object once it is taken apart."""

    to_send: dict[str, str] = field(default_factory=dict)  # the name that was sent, and the declared one
    sent_twice: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


class _Advice:
    """One line for each undeclared object."""

    def __init__(self, declared: Declared, sent: Set[str], inside: str, doubted: int) -> None:
        self._declared = declared
        self._sent = sent
        self._inside = inside
        self._doubted = doubted
        self.renamed = 0  # of the objects so far, those that were meant for a declared one

    def on(self, key: str, inner: Mapping[str, object]) -> str:
        name = scrub_name(key)
        if not inner:
            return f"Remove '{name}': it is empty."
        if meant := object_meant(key, inner, self._declared, self._sent):
            self.renamed += 1
            return f"Did you mean '{scrub_name(meant)}'? It is declared and takes an object; '{name}' is not."
        for way, content in _opened(inner):
            fields = self._sorted(content)
            if fields.to_send:
                return self._unwrap(name, way, fields)
            if fields.sent_twice:
                return f"Remove '{name}': {_were(fields.sent_twice)} sent already."
        return self._homeless(name)

    def _sorted(self, inner: Mapping[str, object]) -> _Fields:
        fields, names = _Fields(), list(islice(inner, _MOST_FIELDS))
        fields.to_send = {name: name for name in inner if name in self._declared.known and name not in self._sent}
        fields.sent_twice = [name for name in inner if name in self._declared.known and name in self._sent]
        for name in names:
            if name in self._declared.known:
                continue
            taken = self._sent | {*fields.to_send.values()}
            free = [known for known in self._declared.names if known not in taken]
            near = nearest(name, free) if len(fields.unknown) < self._doubted else []
            if near:
                fields.to_send[name] = near[0]
            else:
                fields.unknown.append(name)
        return fields

    def _unwrap(self, name: str, way: list[str], fields: _Fields) -> str:
        where = f'inside "{self._inside}"' if self._inside else "directly"
        opened = f"'{name}'" + "".join(f" and '{scrub_name(step)}' in it" for step in way)
        sent = quoted_names(known for sent, known in fields.to_send.items() if sent == known)
        renamed = [f"{_quoted(sent)} as {_quoted(known)}" for sent, known in fields.to_send.items() if sent != known]
        line = f"Unwrap {opened}: send {', '.join(filter(None, [sent, *renamed]))} {where}"
        line += ", not inside them." if way else f', not inside "{name}".'
        if fields.unknown:
            which = "it is" if len(fields.unknown) == 1 else "they are"
            line += f" Leave out {quoted_names(fields.unknown)}: {which} not declared."
        return f"{line} {_were(fields.sent_twice)} sent already." if fields.sent_twice else line

    def _homeless(self, name: str) -> str:
        free = [known for known in self._declared.objects if known not in self._sent]
        if not free:
            return f"Remove '{name}': none of its fields is declared."
        which = f"a declared field that takes an object ({quoted_names(free)})"
        return f"None of the fields in '{name}' is declared: send it as {which}, or leave it out."


def _opened(inner: Mapping[str, object]) -> Iterator[tuple[list[str], Mapping[str, object]]]:
    """The object, and what is in it while it holds nothing but one other object."""
    way: list[str] = []
    yield way, inner
    while len(inner) == 1 and len(way) < _MOST_WRAPS:
        ((key, value),) = inner.items()
        inner = _object(value)
        way.append(key)
        yield way, inner


def _were(names: list[str]) -> str:
    return f"{quoted_names(names)} {'was' if len(names) == 1 else 'were'}"


def _quoted(name: str) -> str:
    return json.dumps(scrub_name(name), ensure_ascii=False)
