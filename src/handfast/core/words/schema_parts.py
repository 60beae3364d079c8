"""What a schema says of the place that a text is about: its names, and what kind of value each takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from handfast.core.words import wording

_IN_PLACE = ("anyOf", "oneOf", "allOf")
_BRANCHES = ("then", "else")
_SAYING = ("type", "enum", "const", "format")
_MOST_PARTS = 200  # that are looked at for one place


def walk(node: Any, path: Sequence[str | int], otherwise: object = None) -> object:  # Any: JSON, mostly of that shape
    """What stands at a path; `otherwise` where the path leads out of it."""
    try:
        for part in path:
            node = node[part]
    except (KeyError, IndexError, TypeError):
        return otherwise
    found: object = node
    return found


class SchemaParts:
    """Reads one schema. Where it says nothing that is understood here, nothing is said."""

    def __init__(self, schema: object) -> None:
        self._schema = schema

    def at(self, path: Sequence[str | int]) -> object:
        """The part at a path in the schema's own text; None where the path leads out of it."""
        return walk(self._schema, path)

    def properties_of(self, steps: Sequence[str | int], value: object) -> Mapping[str, object]:
        """The names that the object at a place may have; of alternatives, those that its tags do not rule out."""
        return self._agreed(self._parts_at(steps), value)

    def properties_in_place(self, schema: object, value: object) -> Mapping[str, object]:
        """The same of one schema, with all that applies to the same object."""
        return self._agreed(self._in_place(schema), value)

    def _agreed(self, parts: Iterable[dict[str, Any]], value: object) -> Mapping[str, object]:
        found = [part["properties"] for part in parts if isinstance(part.get("properties"), dict)]
        declared: dict[str, object] = {}
        for properties in found:
            if not _is_ruled_out(value, properties):
                for name, part in properties.items():
                    # Alternatives that do not agree on a name say nothing of its kind.
                    declared[name] = part if declared.get(name, part) == part else None
        return declared

    def branches(self, alternatives: object) -> list[dict[str, Any]]:
        """The alternatives of a list, through references; empty where one of them is no plain schema."""
        found = [self._meant_by(part) for part in alternatives] if isinstance(alternatives, list) else []
        return found if all(found) else []

    def branches_at(self, steps: Sequence[str | int]) -> list[dict[str, Any]]:
        """The alternatives at a place in the value: the first that are found there."""
        lists = (part[key] for part in self._parts_at(steps) for key in ("anyOf", "oneOf") if key in part)
        return self.branches(next(lists, []))

    def _meant_by(self, schema: object) -> dict[str, Any]:
        if isinstance(schema, dict) and "$ref" not in schema:
            return schema
        return next((part for part in self._in_place(schema) if "$ref" not in part), {})

    def kind(self, schema: object) -> str:
        """What a value of this schema is, such as `an integer`: through references, and alternatives but for null."""
        useful = [part for part in self._meant(schema) if part != {"type": "null"}]
        return wording.kind_of(useful[0]) if len(useful) == 1 else ""

    def asked(self, schema: object) -> object:
        """What of this schema says what a value is, such as `{"type": "integer"}`; None where `kind` says nothing."""
        useful = [part for part in self._meant(schema) if part != {"type": "null"}]
        return {key: useful[0][key] for key in _SAYING if key in useful[0]} or None if len(useful) == 1 else None

    def _meant(self, schema: object) -> list[dict[str, Any]]:
        """Of a schema and what applies in place, the parts that say something themselves."""
        return [part for part in self._in_place(schema, conditions=False) if not part.keys() & {"$ref", *_IN_PLACE}]

    def _parts_at(self, steps: Sequence[str | int]) -> list[dict[str, Any]]:
        parts = list(self._in_place(self._schema))
        for step in steps:
            key, name = ("items", None) if isinstance(step, int) else ("properties", step)
            below = [part.get(key) for part in parts]
            if name is not None:
                below = [inner.get(name) for inner in below if isinstance(inner, dict)]
            parts = [part for inner in below for part in self._in_place(inner)][:_MOST_PARTS]
        return parts

    def _in_place(self, schema: object, *, conditions: bool = True) -> Iterator[dict[str, Any]]:
        """The schema, what it refers to, its alternatives, and with `conditions` what applies only to some values."""
        pending, seen = [schema], set[int]()
        while pending and len(seen) < _MOST_PARTS:
            part = pending.pop(0)
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            if isinstance(reference := part.get("$ref"), str) and reference.startswith("#"):
                pending.append(self.at([step for step in reference[1:].split("/") if step]))
            pending += [inner for key in _IN_PLACE if isinstance(parts := part.get(key), list) for inner in parts]
            pending += _conditional(part) if conditions else ()


def _conditional(part: Mapping[str, Any]) -> list[object]:  # Any: as above
    depending = part.get("dependentSchemas")
    branches = [part[key] for key in _BRANCHES if key in part]
    return [*branches, *depending.values()] if isinstance(depending, dict) else branches


def _is_ruled_out(value: object, properties: Mapping[str, object]) -> bool:
    """Whether a member must have one value there, and has another."""
    tags = {name: part["const"] for name, part in properties.items() if isinstance(part, dict) and "const" in part}
    return isinstance(value, dict) and any(name in value and value[name] != tag for name, tag in tags.items())
