"""Every place in a JSON Schema that holds a schema, with its path; what only looks like one, in an example, is not."""

from collections.abc import Iterator
from dataclasses import dataclass

from handfast.core.schema.annotations import ONE_SCHEMA, SCHEMA_LISTS, SCHEMA_MAPS
from handfast.core.schema.references import Node
from handfast.core.words.redaction import scrub_name


@dataclass(frozen=True, slots=True)
class Position:
    path: str  # from the root, such as properties/address/items
    schema: Node
    names: tuple[str, ...] | None  # of the properties that lead here, where nothing but properties does


def positions(root: object) -> Iterator[Position]:
    """The root first, then whatever stands below it."""
    pending: list[tuple[str, object, tuple[str, ...] | None]] = [("", root, ())]
    while pending:
        path, node, names = pending.pop()
        if not isinstance(node, dict):
            continue
        yield Position(path, node, names)
        pending.extend(reversed(list(_below(path, node, names))))


def _below(
    path: str, node: Node, names: tuple[str, ...] | None
) -> Iterator[tuple[str, object, tuple[str, ...] | None]]:
    for keyword, value in node.items():
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            for name, part in value.items():
                leads = (*names, name) if keyword == "properties" and names is not None else None
                yield join(path, keyword, name), part, leads
        elif keyword in SCHEMA_LISTS and isinstance(value, list):
            for place, part in enumerate(value):
                yield join(path, keyword, str(place)), part, None
        elif keyword in ONE_SCHEMA:
            yield join(path, keyword), value, None


def join(path: str, *steps: str) -> str:
    """A longer path; names of the schema's author are made safe to show."""
    scrubbed = (scrub_name(step).replace("~", "~0").replace("/", "~1") for step in steps)
    return "/".join((path, *scrubbed) if path else scrubbed)
